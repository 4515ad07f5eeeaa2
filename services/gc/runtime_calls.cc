#include "services/gc/runtime_calls.h"

#include <utility>

#include "libs/cri/grpc_runtime.h"
#include "libs/daemon/lock_file.h"
#include "libs/rpc/rpc.h"
#include "services/gc/measure/stats/system_usage.h"

namespace splitlet::gc {
namespace {

/// The runtime's client, and the lock that allows gc to use it.
struct LockedRuntime {
  LockedRuntime(daemon::RuntimeLock l, std::unique_ptr<cri::GrpcRuntime> c)
      : lock(std::move(l)), client(std::move(c)) {}
  daemon::RuntimeLock lock;
  std::unique_ptr<cri::GrpcRuntime> client;
};

}  // namespace

StatusOr<std::shared_ptr<cri::GrpcRuntime>> ConnectRuntime(daemon::ServiceContext& context,
                                                           const GcConfig& config) {
  const std::string& endpoint = context.config().container_runtime_endpoint;
  ASSIGN_OR_RETURN(auto lock, daemon::RuntimeLock::Take(endpoint, "gc"), "lock of the runtime");
  const auto locked = std::make_shared<LockedRuntime>(
      std::move(lock),
      std::make_unique<cri::GrpcRuntime>(rpc::ConnectEndpoint(endpoint), context.clock(),
                                         context.metrics(), cri::CallLimits{config.call_limit}));
  return std::shared_ptr<cri::GrpcRuntime>(locked, locked->client.get());
}

RuntimeCalls CallsOf(const std::shared_ptr<cri::GrpcRuntime>& runtime,
                     const std::string& endpoint) {
  return {.reader = *runtime,
          .remover = *runtime,
          .images = *runtime,
          .logs = *runtime,
          .stats = *runtime,
          .stop_sandbox =
              [&runner = *runtime](const cri::SandboxId& id, Deadline deadline) {
                return runner.StopPodSandbox(id, std::move(deadline));
              },
          .stop_container =
              [&runner = *runtime](const cri::ContainerId& id, int64_t grace, Deadline deadline) {
                return runner.StopContainer(id, grace, std::move(deadline));
              },
          .pid = [endpoint] { return ListenerOf(endpoint); }};
}

}  // namespace splitlet::gc
