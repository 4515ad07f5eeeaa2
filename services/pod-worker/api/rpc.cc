#include "services/pod-worker/api/rpc.h"

#include <atomic>

#include "libs/peers/pod_worker_client.h"
#include "libs/rpc/rpc.h"
#include "services/pod-worker/api/pod_calls.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kLimit = 30s;
static_assert(kMaxWaitingCalls > peers::kGrantsAtOnce + peers::kOrphanKillsAtOnce,
              "gc finds no slot beside sync-loop");

struct Nothing {};

/// A slot for a call that waits for the disk or for config-source. Such a call holds a thread of
/// the server, so their number is limited: lists and health need threads too. Callers try again.
class CallSlot {
 public:
  explicit CallSlot(std::atomic<int>& taken) : taken_(taken), good_(++taken <= kMaxWaitingCalls) {}
  ~CallSlot() { --taken_; }
  CallSlot(const CallSlot&) = delete;
  CallSlot& operator=(const CallSlot&) = delete;
  bool good() const { return good_; }

 private:
  std::atomic<int>& taken_;
  const bool good_;
};

class Rpc final : public v1::PodWorker::Service {
 public:
  Rpc(exec::EventLoop& loop, PodCalls& pods) : loop_(loop), pods_(pods) {}

  grpc::Status UpdatePod(grpc::ServerContext* context, const v1::UpdatePodRequest* request,
                         v1::UpdatePodReply*) override {
    return Wait<Nothing>(
        *context, nullptr,
        [this, asked = *request, trace = rpc::TraceparentOf(*context)](auto done) {
          pods_.OnUpdatePod(
              asked, [done](const Status& status) { status.ok() ? done(Nothing{}) : done(status); },
              trace);
        });
  }

  grpc::Status KillPod(grpc::ServerContext* context, const v1::KillPodRequest* request,
                       v1::KillPodReply* reply) override {
    return Wait<v1::KillPodReply>(
        *context, reply, [this, asked = *request, trace = rpc::TraceparentOf(*context)](auto done) {
          pods_.OnKillPod(asked, done, trace);
        });
  }

  grpc::Status HoldForRemoval(grpc::ServerContext* context, const v1::HoldRequest* request,
                              v1::HoldReply* reply) override {
    return Wait<v1::HoldReply>(*context, reply, [this, asked = *request](auto done) {
      pods_.OnHoldForRemoval(asked, done);
    });
  }

  grpc::Status ReleaseHold(grpc::ServerContext* context, const v1::ReleaseHoldRequest* request,
                           v1::ReleaseHoldReply*) override {
    return Wait<Nothing>(*context, nullptr, [this, id = request->hold_id()](auto done) {
      pods_.OnReleaseHold(id);
      done(Nothing{});
    });
  }

  grpc::Status TakeDownVolumes(grpc::ServerContext* context,
                               const v1::TakeDownVolumesRequest* request,
                               v1::TakeDownVolumesReply* reply) override {
    Progress progress = Progress::kUnderWay;
    const auto status = Wait<Progress>(
        *context, &progress,
        [this, asked = *request](const auto& done) { pods_.OnTakeDownVolumes(asked.uid(), done); });
    reply->set_done(progress == Progress::kDone);
    return status;
  }

  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersReply* reply) override {
    auto list = rpc::OnLoop<v1::ListWorkersReply>(loop_, kLimit,
                                                  [this]() -> StatusOr<v1::ListWorkersReply> {
                                                    v1::ListWorkersReply all;
                                                    for (auto& worker : pods_.GetWorkers())
                                                      *all.add_workers() = std::move(worker);
                                                    return all;
                                                  });
    if (!list.ok()) return rpc::ToGrpc(list.status());
    *reply = *std::move(list);
    return grpc::Status::OK;
  }

 private:
  /// A caller that has given up takes no slot from others.
  template <class R>
  grpc::Status Wait(const grpc::ServerContext& context, R* reply,
                    std::function<void(std::function<void(StatusOr<R>)>)> ask) {
    const CallSlot slot(waiting_);
    if (!slot.good()) return rpc::ToGrpc(ResourceExhausted("too many calls wait"));
    StatusOr<R> answer = rpc::OnLoopLater<R>(loop_, rpc::TimeLeft(context, kLimit), std::move(ask));
    if (!answer.ok()) return rpc::ToGrpc(answer.status());
    if (reply != nullptr) *reply = std::move(answer).value();
    return grpc::Status::OK;
  }

  exec::EventLoop& loop_;
  PodCalls& pods_;
  std::atomic<int> waiting_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRpc(exec::EventLoop& loop, PodCalls& pods) {
  return std::make_unique<Rpc>(loop, pods);
}

}  // namespace splitlet::pod_worker
