#pragma once

/// Serves List of this process's table.
/// Threads: gRPC's; one step on the loop takes the snapshot, a gRPC thread writes it.
/// Errors: NOT_FOUND: not our table; UNAVAILABLE: the loop does not answer.

#include <functional>

#include "libs/bus/message.h"
#include "libs/exec/exec.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::bus {

class TablesService final : public v1::Tables::Service {
 public:
  /// Called on the loop.
  using ListTable =
      std::function<StatusOr<ListAnswer>(const std::string& table, const Since& since)>;
  TablesService(exec::EventLoop& loop, ListTable list) : loop_(loop), list_(std::move(list)) {}
  grpc::Status List(grpc::ServerContext* context, const v1::ListRequest* request,
                    grpc::ServerWriter<v1::ListItem>* writer) override;

 private:
  exec::EventLoop& loop_;
  const ListTable list_;
};

}  // namespace splitlet::bus
