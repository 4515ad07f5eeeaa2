#include "services/pod-worker/api/checkpoint_rpc.h"

#include <utility>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/checkpoints.grpc.pb.h"

namespace splitlet::pod_worker {
namespace {

constexpr Duration kCheckpointLimit = 55s;  // within what any call may take here
static_assert(kCheckpointWait < kCheckpointLimit);

class CheckpointRpc final : public v1::PodCheckpoints::Service {
 public:
  explicit CheckpointRpc(CheckpointCalls::Deps deps) : loop_(deps.loop), calls_(std::move(deps)) {}

  grpc::Status Checkpoint(grpc::ServerContext*, const v1::CheckpointRequest* request,
                          v1::CheckpointReply* reply) override {
    auto answer = rpc::OnLoopLater<v1::CheckpointReply>(
        loop_, kCheckpointLimit,
        [this, asked = *request](auto done) { calls_.OnRequest(asked, std::move(done)); });
    if (!answer.ok()) return rpc::ToGrpc(answer.status());
    reply->Swap(&*answer);
    return grpc::Status::OK;
  }

 private:
  exec::EventLoop& loop_;
  CheckpointCalls calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCheckpointRpc(CheckpointCalls::Deps deps) {
  return std::make_unique<CheckpointRpc>(std::move(deps));
}

}  // namespace splitlet::pod_worker
