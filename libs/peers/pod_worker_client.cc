#include "libs/peers/pod_worker_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::peers {
namespace {

class GrpcGrantClient final : public GrantClient {
 public:
  GrpcGrantClient(const Clock& clock, const std::shared_ptr<grpc::Channel>& channel)
      : clock_(clock), stub_(v1::PodWorker::NewStub(channel)) {}

  Status UpdatePod(const v1::UpdatePodRequest& request, const Deadline& deadline,
                   const std::string& traceparent) override {
    rpc::ClientCall call(clock_, deadline, traceparent);
    v1::UpdatePodReply reply;
    return rpc::FromGrpc(stub_->UpdatePod(&call.context(), request, &reply));
  }

  Status KillPod(const v1::KillPodRequest& request, const Deadline& deadline,
                 const std::string& traceparent) override {
    rpc::ClientCall call(clock_, deadline, traceparent);
    v1::KillPodReply reply;
    return rpc::FromGrpc(stub_->KillPod(&call.context(), request, &reply));
  }

 private:
  const Clock& clock_;
  std::unique_ptr<v1::PodWorker::Stub> stub_;
};

class GrpcHoldClient final : public HoldClient {
 public:
  GrpcHoldClient(const Clock& clock, const std::shared_ptr<grpc::Channel>& channel)
      : clock_(clock), stub_(v1::PodWorker::NewStub(channel)) {}

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
                {reply.sandbox_ids().begin(), reply.sandbox_ids().end()},
                {reply.stopped_sandbox_ids().begin(), reply.stopped_sandbox_ids().end()}};
  }

  Status ReleaseHold(const std::string& hold_id, Deadline deadline) override {
    rpc::ClientCall call(clock_, deadline);
    v1::ReleaseHoldRequest request;
    request.set_hold_id(hold_id);
    v1::ReleaseHoldReply reply;
    return Annotate(rpc::FromGrpc(stub_->ReleaseHold(&call.context(), request, &reply)),
                    "pod-worker");
  }

  StatusOr<bool> TakeDownVolumes(const std::string& uid, Deadline deadline) override {
    rpc::ClientCall call(clock_, deadline);
    v1::TakeDownVolumesRequest request;
    request.set_uid(uid);
    v1::TakeDownVolumesReply reply;
    RETURN_IF_ERROR(rpc::FromGrpc(stub_->TakeDownVolumes(&call.context(), request, &reply)),
                    "pod-worker");
    return reply.done();
  }

 private:
  const Clock& clock_;
  std::unique_ptr<v1::PodWorker::Stub> stub_;
};

}  // namespace

std::unique_ptr<GrantClient> MakeGrantClient(const Clock& clock,
                                             const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<GrpcGrantClient>(clock, channel);
}

std::unique_ptr<KillClient> MakeKillClient(const Clock& clock,
                                           const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<GrpcGrantClient>(clock, channel);
}

std::unique_ptr<HoldClient> MakeHoldClient(const Clock& clock,
                                           const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<GrpcHoldClient>(clock, channel);
}

}  // namespace splitlet::peers
