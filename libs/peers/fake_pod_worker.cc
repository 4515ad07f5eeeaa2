#include "libs/peers/fake_pod_worker.h"

#include <fmt/format.h>

#include <utility>

#include "libs/peers/worker_standing.h"

namespace splitlet::peers {
namespace {

class Client final : public GrantClient {
 public:
  explicit Client(FakePodWorker& worker) : worker_(worker) {}
  Status UpdatePod(const v1::UpdatePodRequest& request, const Deadline&,
                   const std::string& traceparent) override {
    return worker_.UpdatePod(request, traceparent);
  }
  Status KillPod(const v1::KillPodRequest& request, const Deadline&,
                 const std::string& traceparent) override {
    return worker_.KillPod(request, traceparent);
  }

 private:
  FakePodWorker& worker_;
};

v1::WorkerRecord Granted(const v1::UpdatePodRequest& request) {
  v1::WorkerRecord record;
  record.set_uid(request.uid());
  record.set_incarnation(request.incarnation());
  record.set_generation(request.generation());
  record.set_state(v1::SYNCING);
  record.set_granted(true);
  return record;
}

}  // namespace

FakePodWorker::FakePodWorker()
    : records_{.find = [this](const std::string& uid) -> std::optional<v1::WorkerRecord> {
                 const auto record = own_.find(uid);
                 if (record == own_.end()) return std::nullopt;
                 return record->second;
               },
               .put = [this](const v1::WorkerRecord& record) { own_[record.uid()] = record; }} {}

std::unique_ptr<GrantClient> FakePodWorker::NewClient() { return std::make_unique<Client>(*this); }

Status FakePodWorker::Begin(const std::string& uid, const std::string& traceparent) {
  {
    const std::lock_guard lock(mutex_);
    traces.push_back(traceparent);
  }
  const Status status = on_call(uid);
  return status.ok() ? failure : status;
}

Status FakePodWorker::UpdatePod(const v1::UpdatePodRequest& request,
                                const std::string& traceparent) {
  if (const Status status = Begin(request.uid(), traceparent); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (const Status status = Accept(request); !status.ok()) return status;
  calls.push_back(fmt::format("{} {} {}/{}", v1::UpdatePodRequest::Kind_Name(request.kind()),
                              request.uid(), request.incarnation(), request.generation()));
  if (!request.pod().empty()) pods[request.uid()] = request.pod();
  return OkStatus();
}

/// Requires mutex_.
Status FakePodWorker::Accept(const v1::UpdatePodRequest& request) {
  auto record = records_.find(request.uid());
  const auto standing = ComputeWorkerStanding(record.has_value(), record ? &*record : nullptr);
  const bool finished = standing == WorkerStanding::kFinished;
  if (IsNoWorker(standing)) {
    if (record && request.incarnation() < record->incarnation())
      return FailedPrecondition("the runtime shows a later incarnation of the pod");
    record.reset();
  } else {
    const bool same = request.incarnation() == record->incarnation();
    if (request.incarnation() < record->incarnation() || (finished && same))
      return FailedPrecondition("this incarnation of the pod is over");
    if (same && record->granted() && request.generation() <= record->generation())
      return OkStatus();
  }
  if (request.pod().empty()) return InvalidArgument("no pod in the request");
  const bool waits = record && !finished && request.incarnation() > record->incarnation();
  if (waits) {
    next_[request.uid()] = request;
    record->set_state(v1::TERMINATING);
    Put(*record);
  } else if (!record || finished || record->state() == v1::SYNCING) {
    Put(Granted(request));
  }
  return OkStatus();
}

Status FakePodWorker::KillPod(const v1::KillPodRequest& request, const std::string& traceparent) {
  if (const Status status = Begin(request.uid(), traceparent); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  auto record = records_.find(request.uid());
  const auto standing = ComputeWorkerStanding(record.has_value(), record ? &*record : nullptr);
  if (request.incarnation() == 0) {
    if (const Status status = KillOrphan(request); !status.ok()) return status;
  } else if (IsNoWorker(standing)) {
    if (desired(request.uid()) != request.incarnation())
      return FailedPrecondition("no such incarnation of the pod");
    v1::WorkerRecord ungranted;
    ungranted.set_uid(request.uid());
    ungranted.set_incarnation(request.incarnation());
    ungranted.set_state(v1::FINISHED);
    Put(ungranted);
  } else if (record->incarnation() < request.incarnation()) {
    return Unavailable("an earlier incarnation of the pod has not ended yet");
  } else if (record->incarnation() == request.incarnation() && record->state() == v1::SYNCING) {
    record->set_state(v1::TERMINATING);
    Put(*record);
  }
  calls.push_back(fmt::format("KILL {} {}", request.uid(), request.incarnation()));
  kills.push_back(request);
  return OkStatus();
}

/// Requires mutex_.
Status FakePodWorker::KillOrphan(const v1::KillPodRequest& request) {
  if (request.sandbox_ids().empty()) return InvalidArgument("no sandbox ids in the request");
  if (desired(request.uid())) return FailedPrecondition("a source knows the pod");
  const auto record = records_.find(request.uid());
  const auto standing = ComputeWorkerStanding(record.has_value(), record ? &*record : nullptr);
  if (!IsNoWorker(standing) && standing != WorkerStanding::kFinished)
    return FailedPrecondition("the pod has a worker");
  return OkStatus();
}

void FakePodWorker::Put(const v1::WorkerRecord& record) {
  if (!mute) records_.put(record);
}

void FakePodWorker::Set(const std::string& uid, v1::WorkerState state) {
  const std::lock_guard lock(mutex_);
  auto record = records_.find(uid);
  if (!record) return;
  record->set_state(state);
  records_.put(*record);
}

void FakePodWorker::Finish(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  auto record = records_.find(uid);
  if (!record) return;
  record->set_state(v1::FINISHED);
  if (const auto next = next_.extract(uid); !next.empty()) record = Granted(next.mapped());
  records_.put(*record);
}

std::vector<std::string> FakePodWorker::TakeCalls() {
  const std::lock_guard lock(mutex_);
  return std::exchange(calls, {});
}

}  // namespace splitlet::peers
