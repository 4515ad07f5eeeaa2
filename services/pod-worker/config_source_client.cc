#include <grpcpp/channel.h>

#include "libs/rpc/rpc.h"
#include "services/pod-worker/desired_owner.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::pod_worker {

namespace {

class ConfigSourceClient final : public DesiredOwner {
 public:
  ConfigSourceClient(const Clock& clock, std::shared_ptr<grpc::Channel> channel)
      : clock_(clock), stub_(v1::ConfigSource::NewStub(std::move(channel))) {}

  StatusOr<bool> Knows(const std::string& uid, const Deadline& deadline) override {
    rpc::ClientCall call(clock_, deadline);
    v1::GetDesiredRequest request;
    request.set_uid(uid);
    v1::GetDesiredReply reply;
    const Status status = rpc::FromGrpc(stub_->GetPod(&call.context(), request, &reply));
    if (!status.ok()) return Annotate(status, "ask config-source");
    return reply.known();
  }

 private:
  const Clock& clock_;
  std::unique_ptr<v1::ConfigSource::Stub> stub_;
};

}  // namespace

std::unique_ptr<DesiredOwner> MakeConfigSourceClient(const Clock& clock,
                                                     std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<ConfigSourceClient>(clock, std::move(channel));
}

}  // namespace splitlet::pod_worker
