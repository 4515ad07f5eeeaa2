#include "services/gc/protect/eviction/active_pods.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"
#include "libs/peers/worker_standing.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

bool Runs(const v1::WorkerRecord& worker) {
  return worker.granted() && worker.state() == v1::SYNCING && !worker.evicted();
}

bool IsOnItsWay(const v1::WorkerRecord& worker) {
  return worker.state() == v1::SYNCING || worker.state() == v1::TERMINATING;
}

/// pod-worker found the pod in the runtime after a start, and sync-loop has not granted it yet.
bool IsFound(const v1::WorkerRecord& worker) {
  return peers::ComputeWorkerStanding(worker) == peers::WorkerStanding::kFound;
}

}  // namespace

void ActivePods::OnDesired(const bus::View<v1::DesiredRecord>::Change& change) {
  limits_.erase(change.key);
  if (change.after == nullptr) return;
  const auto pod = kube::ParsePod(change.after->pod());
  if (!pod.ok()) return;
  LocalLimits limits = LocalLimitsOf(*pod);
  if (limits.any()) limits_[change.key] = std::move(limits);
}

std::optional<Candidate> ActivePods::Read(const std::string& key, Which which) const {
  const auto worker = workers_.Find(key);
  if (worker == nullptr || !which(*worker)) return std::nullopt;
  const auto desired = desired_.Find(key);
  if (desired == nullptr || desired->incarnation() != worker->incarnation()) return std::nullopt;
  auto pod = kube::ParsePod(desired->pod());
  if (!pod.ok()) return std::nullopt;
  return Candidate{
      worker->uid(), worker->incarnation(), std::make_shared<kube::Pod>(*std::move(pod)), {}};
}

std::optional<Candidate> ActivePods::ReadEvictable(const std::string& key) const {
  auto pod = Read(key, Runs);
  if (pod && !MayBeEvicted(*pod->pod, config_.evict_static_pods)) pod.reset();
  return pod;
}

bool ActivePods::AnyUnread() const {
  bool any = false;
  workers_.ForEach([&](const std::string& key, const auto& worker) {
    if (any) return;
    any = worker == nullptr || IsFound(*worker) || (IsOnItsWay(*worker) && !Read(key, IsOnItsWay));
  });
  return any;
}

std::vector<Candidate> ActivePods::NotEnded(
    const std::function<bool(const std::string& uid, int64_t incarnation)>& which) const {
  std::vector<Candidate> pods;
  workers_.ForEach([&](const std::string& key, const auto&) {
    const auto worker = workers_.Find(key);
    if (worker == nullptr || !which(worker->uid(), worker->incarnation())) return;
    if (auto pod = Read(key, IsOnItsWay)) pods.push_back(*std::move(pod));
  });
  return pods;
}

std::vector<Candidate> ActivePods::Evictable() const {
  std::vector<Candidate> pods;
  workers_.ForEach([&](const std::string& key, const auto&) {
    if (auto pod = ReadEvictable(key)) pods.push_back(*std::move(pod));
  });
  return pods;
}

std::vector<ActivePods::Limited> ActivePods::EvictableWithLimits() const {
  std::vector<Limited> pods;
  for (const auto& [key, limits] : limits_)
    if (auto pod = ReadEvictable(key)) pods.push_back({*std::move(pod), limits});
  return pods;
}

bool ActivePods::IsActive(const Candidate& pod) const {
  const auto worker = workers_.Find(bus::KeyOf(pod.uid));
  return worker != nullptr && Runs(*worker) && worker->incarnation() == pod.incarnation;
}

bool ActivePods::HasContainers(const std::string& uid, int64_t incarnation) const {
  const auto worker = workers_.Find(bus::KeyOf(uid));
  return worker != nullptr && IsOnItsWay(*worker) && worker->incarnation() == incarnation;
}

bool ActivePods::IsGone(const std::string& uid, int64_t incarnation) const {
  const std::string key = bus::KeyOf(uid);
  if (!workers_.Contains(key)) return workers_.LiveAndComplete();
  const auto worker = workers_.Find(key);
  if (worker == nullptr) return false;
  return worker->incarnation() > incarnation ||
         (worker->incarnation() == incarnation && worker->state() == v1::FINISHED);
}

}  // namespace splitlet::gc
