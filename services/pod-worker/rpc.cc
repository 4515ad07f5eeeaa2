#include "services/pod-worker/rpc.h"

#include "libs/rpc/rpc.h"
#include "services/pod-worker/pod_worker_service.h"
#include "splitlet/v1/pod_worker_facts.pb.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kLimit = 30s;

struct Nothing {};

class Rpc final : public v1::PodWorker::Service {
 public:
  Rpc(exec::EventLoop& loop, PodWorkerService& workers) : loop_(loop), workers_(workers) {}

  grpc::Status UpdatePod(grpc::ServerContext* context, const v1::UpdatePodRequest* request,
                         v1::UpdatePodReply*) override {
    return Wait<Nothing>(
        kLimit, nullptr, [this, asked = *request, trace = rpc::TraceparentOf(*context)](auto done) {
          workers_.OnUpdatePod(
              asked, [done](const Status& status) { status.ok() ? done(Nothing{}) : done(status); },
              trace);
        });
  }

  grpc::Status KillPod(grpc::ServerContext* context, const v1::KillPodRequest* request,
                       v1::KillPodReply* reply) override {
    return Wait<v1::KillPodReply>(
        kLimit, reply, [this, asked = *request, trace = rpc::TraceparentOf(*context)](auto done) {
          workers_.OnKillPod(asked, done, trace);
        });
  }

  grpc::Status HoldForRemoval(grpc::ServerContext*, const v1::HoldRequest* request,
                              v1::HoldReply* reply) override {
    return Wait<v1::HoldReply>(kLimit, reply, [this, asked = *request](auto done) {
      workers_.OnHoldForRemoval(asked, done);
    });
  }

  grpc::Status ReleaseHold(grpc::ServerContext*, const v1::ReleaseHoldRequest* request,
                           v1::ReleaseHoldReply*) override {
    return Wait<Nothing>(kLimit, nullptr, [this, id = request->hold_id()](auto done) {
      workers_.OnReleaseHold(id);
      done(Nothing{});
    });
  }

  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersReply* reply) override {
    return Wait<v1::ListWorkersReply>(kLimit, reply, [this](auto done) {
      v1::ListWorkersReply list;
      for (auto& worker : workers_.GetWorkers()) *list.add_workers() = std::move(worker);
      done(std::move(list));
    });
  }

 private:
  template <class R>
  grpc::Status Wait(Duration limit, R* reply,
                    std::function<void(std::function<void(StatusOr<R>)>)> ask) {
    StatusOr<R> answer = rpc::OnLoopLater<R>(loop_, limit, std::move(ask));
    if (!answer.ok()) return rpc::ToGrpc(answer.status());
    if (reply != nullptr) *reply = std::move(answer).value();
    return grpc::Status::OK;
  }

  exec::EventLoop& loop_;
  PodWorkerService& workers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRpc(exec::EventLoop& loop, PodWorkerService& workers) {
  return std::make_unique<Rpc>(loop, workers);
}

}  // namespace splitlet::pod_worker
