#include "libs/cri/cgroup_driver.h"

#include <grpcpp/grpcpp.h>

#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::cri {

namespace v1 = runtime::v1;

StatusOr<std::string> AskCgroupDriver(const std::shared_ptr<grpc::Channel>& channel,
                                      const Clock& clock, Deadline deadline) {
  const auto runtime = v1::RuntimeService::NewStub(channel);
  v1::RuntimeConfigResponse response;
  rpc::ClientCall call(clock, deadline);
  const Status status =
      rpc::FromGrpc(runtime->RuntimeConfig(&call.context(), v1::RuntimeConfigRequest(), &response));
  if (!status.ok()) return status;
  if (!response.has_linux()) return Unimplemented("the runtime reports no cgroup driver");
  const auto driver = response.linux().cgroup_driver();
  if (driver == v1::SYSTEMD) return "systemd";
  if (driver == v1::CGROUPFS) return "cgroupfs";
  return Unimplemented("the runtime reports an unknown cgroup driver: {}",
                       static_cast<int>(driver));
}

}  // namespace splitlet::cri
