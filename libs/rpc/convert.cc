#include "libs/rpc/convert.h"

#include <grpcpp/impl/codegen/status.h>

#include "libs/base/text.h"
#include "libs/rpc/rpc.h"

namespace splitlet::rpc {
namespace {

constexpr size_t kMaxErrorBytes = 16u << 10;

}  // namespace

// Abseil and gRPC number their codes alike, by design.
grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.raw_code()), Message(status)};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  // A peer's message is percent-encoded on the wire, may hold any bytes, and ends up in records.
  return MakeStatus(static_cast<StatusCode>(status.error_code()),
                    std::string_view(ToText(status.error_message(), kMaxErrorBytes)));
}

std::string SocketPath(const std::string& run_dir, const std::string& process) {
  return run_dir + "/" + process + "/rpc.sock";
}

}  // namespace splitlet::rpc
