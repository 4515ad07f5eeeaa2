#include "services/pod-worker/sync/resync_timer.h"

#include <algorithm>
#include <utility>

#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

namespace {

constexpr int kBatches = 6;  // in a period
/// With the wait for its batch, the inspection of a pod comes at most half a period late.
constexpr double kBatchJitter = 1.0 / 3;

}  // namespace

PodListings ByPod(cri::PodListing listed, const std::set<std::string>& uids) {
  PodListings pods;
  for (const auto& uid : uids) pods[uid].listed_at = listed.listed_at;
  for (auto& sandbox : listed.sandboxes) {
    const auto pod = pods.find(sandbox.pod_uid);
    if (pod != pods.end()) pod->second.sandboxes.push_back(std::move(sandbox));
  }
  for (auto& container : listed.containers) {
    const auto pod = pods.find(cri::LabelOf(container.labels, kube::kPodUidLabel));
    if (pod != pods.end()) pod->second.containers.push_back(std::move(container));
  }
  return pods;
}

Clock::Time NextBatch(Clock::Time now, Duration wait, Duration period) {
  const Duration apart = std::max(period / kBatches, Duration{1});
  const Clock::Time at = now + wait;
  const Duration past = at.monotonic % apart;
  return past == Duration{0} ? at : at + (apart - past);
}

void ResyncTimer::Add(const std::string& uid) {
  Forget(uid);
  const Clock::Time at = NextBatch(deps_.env.clock.Now(),
                                   deps_.random.Jitter(deps_.period, kBatchJitter), deps_.period);
  due_[uid] = at;
  batches_[at].insert(uid);
  if (batches_.begin()->first == at && batches_.begin()->second.size() == 1) Arm();
}

void ResyncTimer::AddNow(const std::string& uid) {
  Forget(uid);
  Await(uid);
}

void ResyncTimer::Forget(const std::string& uid) {
  waiting_.erase(uid);
  asked_.erase(uid);
  const auto found = due_.find(uid);
  if (found == due_.end()) return;
  const auto batch = batches_.find(found->second);
  batch->second.erase(uid);
  if (batch->second.empty()) batches_.erase(batch);
  due_.erase(found);
}

void ResyncTimer::Arm() {
  deps_.env.loop.CancelTimer(std::exchange(timer_, 0));
  if (batches_.empty()) return;
  const Duration wait = batches_.begin()->first - deps_.env.clock.Now();
  timer_ = deps_.env.loop.RunAfter(std::max(wait, Duration{0}), [this] {
    timer_ = 0;
    RunDue();
  });
}

void ResyncTimer::RunDue() {
  const Clock::Time now = deps_.env.clock.Now();
  while (!batches_.empty() && batches_.begin()->first <= now) {
    const auto batch = batches_.extract(batches_.begin());
    for (const auto& uid : batch.mapped()) {
      due_.erase(uid);
      Await(uid);
    }
  }
  Arm();
}

/// A listing under way may have begun before the event that this inspection is for.
void ResyncTimer::Await(const std::string& uid) {
  waiting_.insert(uid);
  if (is_listing_ || std::exchange(will_list_, true)) return;
  deps_.env.loop.Post([this] {
    will_list_ = false;
    List();
  });
}

void ResyncTimer::List() {
  if (is_listing_ || waiting_.empty()) return;
  // The whole runtime is not listed for one pod.
  if (waiting_.size() == 1) return deps_.pods.Advance(waiting_.extract(waiting_.begin()).value());
  is_listing_ = true;
  asked_ = std::exchange(waiting_, {});
  asker_.Ask(
      "resync",
      [&observer = deps_.observer, &clock = deps_.env.clock, limit = deps_.request_timeout,
       uids = asked_]() -> StatusOr<PodListings> {
        ASSIGN_OR_RETURN(auto listed, observer.List("", After(clock, limit)), "list all pods");
        return ByPod(std::move(listed), uids);
      },
      [this](StatusOr<PodListings> listed) { OnListed(std::move(listed)); });
}

void ResyncTimer::OnListed(StatusOr<PodListings> listed) {
  is_listing_ = false;
  while (!asked_.empty()) {
    const std::string uid = asked_.extract(asked_.begin()).value();
    std::shared_ptr<const cri::PodListing> of_pod;
    if (listed.ok()) of_pod = std::make_shared<const cri::PodListing>(std::move(listed->at(uid)));
    deps_.pods.AdvanceWith(uid, std::move(of_pod));
  }
  List();
}

}  // namespace splitlet::pod_worker
