#include "libs/cri/network_config.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/cri/cri_metrics.h"
#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::cri {
namespace {

namespace v1 = runtime::v1;

class GrpcNetworkConfig final : public NetworkConfig {
 public:
  GrpcNetworkConfig(std::shared_ptr<grpc::Channel> channel, const Clock& clock,
                    prometheus::Registry& registry)
      : clock_(clock),
        channel_(std::move(channel)),
        runtime_(v1::RuntimeService::NewStub(channel_)),
        metrics_(registry) {}

  Status UpdatePodCidr(const std::string& cidr, Deadline deadline) override {
    FAIL_POINT("cri.update-runtime-config.before");
    const Clock::Time begin = clock_.Now();
    v1::UpdateRuntimeConfigRequest request;
    request.mutable_runtime_config()->mutable_network_config()->set_pod_cidr(cidr);
    v1::UpdateRuntimeConfigResponse response;
    rpc::ClientCall call(clock_, deadline);
    const Status status =
        rpc::FromGrpc(runtime_->UpdateRuntimeConfig(&call.context(), request, &response));
    metrics_.Note("update_runtime_config", clock_.Now() - begin, !status.ok());
    FAIL_POINT("cri.update-runtime-config.after");
    return status;
  }

  bool Connected() override { return channel_->GetState(false) == GRPC_CHANNEL_READY; }

 private:
  const Clock& clock_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::RuntimeService::Stub> runtime_;
  CriMetrics metrics_;
};

}  // namespace

std::unique_ptr<NetworkConfig> MakeGrpcNetworkConfig(std::shared_ptr<grpc::Channel> channel,
                                                     const Clock& clock,
                                                     prometheus::Registry& registry) {
  return std::make_unique<GrpcNetworkConfig>(std::move(channel), clock, registry);
}

}  // namespace splitlet::cri
