#include "services/pod-worker/api/rpc.h"

#include <atomic>

#include "libs/peers/pod_worker_client.h"
#include "libs/rpc/rpc.h"
#include "services/pod-worker/pod_worker_service.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kLimit = 30s;
static_assert(kMaxWaitingCalls > peers::kGrantsAtOnce + peers::kOrphanKillsAtOnce,
              "gc finds no place beside sync-loop");

struct Nothing {};

/// One of few places for calls that wait for a disk or for config-source: each holds a thread of
/// the server, which has to have some left for lists and health. Callers come again.
class Place {
 public:
  explicit Place(std::atomic<int>& taken) : taken_(taken), good_(++taken <= kMaxWaitingCalls) {}
  ~Place() { --taken_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool good() const { return good_; }

 private:
  std::atomic<int>& taken_;
  const bool good_;
};

class Rpc final : public v1::PodWorker::Service {
 public:
  Rpc(exec::EventLoop& loop, PodWorkerService& workers) : loop_(loop), workers_(workers) {}

  grpc::Status UpdatePod(grpc::ServerContext* context, const v1::UpdatePodRequest* request,
                         v1::UpdatePodReply*) override {
    return Wait<Nothing>(
        *context, nullptr,
        [this, asked = *request, trace = rpc::TraceparentOf(*context)](auto done) {
          workers_.OnUpdatePod(
              asked, [done](const Status& status) { status.ok() ? done(Nothing{}) : done(status); },
              trace);
        });
  }

  grpc::Status KillPod(grpc::ServerContext* context, const v1::KillPodRequest* request,
                       v1::KillPodReply* reply) override {
    return Wait<v1::KillPodReply>(
        *context, reply, [this, asked = *request, trace = rpc::TraceparentOf(*context)](auto done) {
          workers_.OnKillPod(asked, done, trace);
        });
  }

  grpc::Status HoldForRemoval(grpc::ServerContext* context, const v1::HoldRequest* request,
                              v1::HoldReply* reply) override {
    return Wait<v1::HoldReply>(*context, reply, [this, asked = *request](auto done) {
      workers_.OnHoldForRemoval(asked, done);
    });
  }

  grpc::Status ReleaseHold(grpc::ServerContext* context, const v1::ReleaseHoldRequest* request,
                           v1::ReleaseHoldReply*) override {
    return Wait<Nothing>(*context, nullptr, [this, id = request->hold_id()](auto done) {
      workers_.OnReleaseHold(id);
      done(Nothing{});
    });
  }

  grpc::Status TakeDownVolumes(grpc::ServerContext* context,
                               const v1::TakeDownVolumesRequest* request,
                               v1::TakeDownVolumesReply* reply) override {
    Progress progress = Progress::kUnderWay;
    const auto status =
        Wait<Progress>(*context, &progress, [this, asked = *request](const auto& done) {
          workers_.OnTakeDownVolumes(asked.uid(), done);
        });
    reply->set_done(progress == Progress::kDone);
    return status;
  }

  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersReply* reply) override {
    auto list = rpc::OnLoop<v1::ListWorkersReply>(loop_, kLimit,
                                                  [this]() -> StatusOr<v1::ListWorkersReply> {
                                                    v1::ListWorkersReply all;
                                                    for (auto& worker : workers_.GetWorkers())
                                                      *all.add_workers() = std::move(worker);
                                                    return all;
                                                  });
    if (!list.ok()) return rpc::ToGrpc(list.status());
    *reply = *std::move(list);
    return grpc::Status::OK;
  }

 private:
  /// Whoever has given up takes no place from others.
  template <class R>
  grpc::Status Wait(const grpc::ServerContext& context, R* reply,
                    std::function<void(std::function<void(StatusOr<R>)>)> ask) {
    const Place place(waiting_);
    if (!place.good()) return rpc::ToGrpc(ResourceExhausted("too many calls wait"));
    StatusOr<R> answer = rpc::OnLoopLater<R>(loop_, rpc::TimeLeft(context, kLimit), std::move(ask));
    if (!answer.ok()) return rpc::ToGrpc(answer.status());
    if (reply != nullptr) *reply = std::move(answer).value();
    return grpc::Status::OK;
  }

  exec::EventLoop& loop_;
  PodWorkerService& workers_;
  std::atomic<int> waiting_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRpc(exec::EventLoop& loop, PodWorkerService& workers) {
  return std::make_unique<Rpc>(loop, workers);
}

}  // namespace splitlet::pod_worker
