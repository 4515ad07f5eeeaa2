#include "services/node-api/pods/pod_calls.h"

#include <grpcpp/grpcpp.h>

#include "libs/rpc/unary.h"
#include "splitlet/v1/checkpoints.grpc.pb.h"
#include "splitlet/v1/streams.grpc.pb.h"

namespace splitlet::node_api {
namespace {

class RpcPodCalls final : public PodCalls {
 public:
  RpcPodCalls(const Clock& clock, const std::shared_ptr<grpc::Channel>& channel)
      : clock_(clock),
        streams_(v1::PodStreams::NewStub(channel)),
        checkpoints_(v1::PodCheckpoints::NewStub(channel)) {}

  StatusOr<std::string> OpenStream(const v1::OpenStreamRequest& request,
                                   const CallOptions& options) override {
    rpc::ClientCall call(clock_, options.deadline, options.traceparent);
    auto reply = rpc::Unary(call, *streams_, &v1::PodStreams::Stub::OpenStream, request);
    if (!reply.ok()) return reply.status();
    return reply->url();
  }
  StatusOr<v1::RunCommandReply> RunCommand(const v1::RunCommandRequest& request,
                                           const CallOptions& options) override {
    rpc::ClientCall call(clock_, options.deadline, options.traceparent);
    return rpc::Unary(call, *streams_, &v1::PodStreams::Stub::RunCommand, request);
  }
  StatusOr<v1::CheckpointReply> Checkpoint(const v1::CheckpointRequest& request,
                                           const CallOptions& options) override {
    rpc::ClientCall call(clock_, options.deadline, options.traceparent);
    return rpc::Unary(call, *checkpoints_, &v1::PodCheckpoints::Stub::Checkpoint, request);
  }

 private:
  const Clock& clock_;
  const std::unique_ptr<v1::PodStreams::Stub> streams_;
  const std::unique_ptr<v1::PodCheckpoints::Stub> checkpoints_;
};

}  // namespace

std::unique_ptr<PodCalls> MakePodCalls(const Clock& clock, std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<RpcPodCalls>(clock, channel);
}

}  // namespace splitlet::node_api
