#include "libs/bus/tables_service.h"

#include <grpcpp/grpcpp.h>

#include "libs/bus/view_core.h"
#include "libs/bus/wire.h"
#include "libs/rpc/rpc.h"

namespace splitlet::bus {

grpc::Status TablesService::List(grpc::ServerContext* /*context*/, const v1::ListRequest* request,
                                 grpc::ServerWriter<v1::ListItem>* writer) {
  const auto answer = rpc::OnLoop<ListAnswer>(
      loop_, kListLimit, [list = list_, table = request->table(), since = DecodeSince(*request)] {
        return list(table, since);
      });
  if (!answer.ok()) return rpc::ToGrpc(answer.status());
  v1::ListItem item;
  EncodeHead(*answer, item);
  bool open = writer->Write(item);
  for (const auto& change : answer->changes) {
    if (!open) break;  // the reader is gone
    item.Clear();
    EncodeItem(change, item);
    open = writer->Write(item);
  }
  return grpc::Status::OK;
}

}  // namespace splitlet::bus
