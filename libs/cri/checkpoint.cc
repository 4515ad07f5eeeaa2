#include "libs/cri/checkpoint.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::cri {
namespace {

namespace v1 = runtime::v1;

class GrpcCheckpointer final : public Checkpointer {
 public:
  GrpcCheckpointer(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock)
      : clock_(clock), runtime_(v1::RuntimeService::NewStub(channel)) {}

  Status CheckpointContainer(const ContainerId& id, const std::string& location,
                             std::chrono::seconds timeout, Deadline deadline) override {
    v1::CheckpointContainerRequest request;
    request.set_container_id(id.str());
    request.set_location(location);
    request.set_timeout(timeout.count());
    v1::CheckpointContainerResponse response;
    rpc::ClientCall call(clock_, deadline);
    return rpc::FromGrpc(runtime_->CheckpointContainer(&call.context(), request, &response));
  }

 private:
  const Clock& clock_;
  const std::unique_ptr<v1::RuntimeService::Stub> runtime_;
};

}  // namespace

std::unique_ptr<Checkpointer> MakeGrpcCheckpointer(std::shared_ptr<grpc::Channel> channel,
                                                   const Clock& clock) {
  return std::make_unique<GrpcCheckpointer>(channel, clock);
}

}  // namespace splitlet::cri
