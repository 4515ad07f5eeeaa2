#include "services/gc/grpc_clients.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::gc {
namespace {

class GrpcWorkerClient final : public WorkerClient {
 public:
  GrpcWorkerClient(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock)
      : stub_(v1::PodWorker::NewStub(channel)), clock_(clock) {}

  StatusOr<Hold> HoldForRemoval(const HoldWishes& wishes, Deadline deadline) override {
    rpc::ClientCall call(clock_, deadline);
    v1::HoldRequest request;
    request.set_request_id(wishes.request_id);
    request.mutable_uids()->Add(wishes.uids.begin(), wishes.uids.end());
    request.mutable_container_ids()->Add(wishes.container_ids.begin(), wishes.container_ids.end());
    request.mutable_sandbox_ids()->Add(wishes.sandbox_ids.begin(), wishes.sandbox_ids.end());
    v1::HoldReply reply;
    RETURN_IF_ERROR(rpc::FromGrpc(stub_->HoldForRemoval(&call.context(), request, &reply)),
                    "pod-worker");
    return Hold{reply.hold_id(),
                {reply.uids().begin(), reply.uids().end()},
                {reply.container_ids().begin(), reply.container_ids().end()},
                {reply.sandbox_ids().begin(), reply.sandbox_ids().end()}};
  }

  Status ReleaseHold(const std::string& hold_id, Deadline deadline) override {
    rpc::ClientCall call(clock_, deadline);
    v1::ReleaseHoldRequest request;
    request.set_hold_id(hold_id);
    v1::ReleaseHoldReply reply;
    return Annotate(rpc::FromGrpc(stub_->ReleaseHold(&call.context(), request, &reply)),
                    "pod-worker");
  }

 private:
  std::unique_ptr<v1::PodWorker::Stub> stub_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<WorkerClient> MakeWorkerClient(const std::shared_ptr<grpc::Channel>& channel,
                                               const Clock& clock) {
  return std::make_unique<GrpcWorkerClient>(channel, clock);
}

}  // namespace splitlet::gc
