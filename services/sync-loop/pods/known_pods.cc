#include "services/sync-loop/pods/known_pods.h"

#include <utility>

#include "libs/peers/worker_standing.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

template <class Digest>
const Digest* FindIn(const std::map<std::string, Digest>& digests, const std::string& key) {
  const auto it = digests.find(key);
  return it == digests.end() ? nullptr : &it->second;
}

}  // namespace

void KnownPods::OnDesired(const bus::View<v1::DesiredRecord>::Change& change) {
  if (!change.present_after) {
    pods_.erase(change.key);
    return;
  }
  PodDigest digest;  // unknown: starts and stops nothing
  if (change.after != nullptr) digest = DigestOf(*change.after);
  digest.traceparent = change.traceparent;
  // config-source restarted and put the record again, without the trace: the change is the same.
  PodDigest& known = pods_[change.key];
  if (digest.traceparent.empty() && known.incarnation == digest.incarnation &&
      known.generation == digest.generation)
    digest.traceparent = known.traceparent;
  known = std::move(digest);
}

void KnownPods::OnWorker(const bus::View<v1::WorkerRecord>::Change& change) {
  const auto standing = peers::ComputeWorkerStanding(change.present_after, change.after.get());
  if (peers::IsNoWorker(standing)) {
    workers_.erase(change.key);
    return;
  }
  WorkerDigest digest;  // unknown: starts and stops nothing
  if (change.after != nullptr) digest = DigestOf(*change.after);
  workers_[change.key] = std::move(digest);
}

void KnownPods::OnRuntime(const bus::View<v1::RuntimeRecord>::Change& change) {
  if (change.after == nullptr) {
    runtime_.erase(change.key);
  } else {
    runtime_[change.key] = DigestOf(*change.after);
  }
}

const PodDigest* KnownPods::Pod(const std::string& key) const { return FindIn(pods_, key); }

const WorkerDigest* KnownPods::Worker(const std::string& key) const {
  return FindIn(workers_, key);
}

bool KnownPods::IsRunning(const std::string& key) const {
  const RuntimeDigest* pod = FindIn(runtime_, key);
  return pod != nullptr && pod->running;
}

bool KnownPods::HasStopped(const std::string& key, int64_t incarnation) const {
  using State = WorkerDigest::State;
  const WorkerDigest* worker = Worker(key);
  if (worker == nullptr || worker->state == State::kUnknown) return false;
  if (worker->incarnation > incarnation) return true;
  return worker->incarnation == incarnation &&
         (worker->state == State::kTerminated || worker->state == State::kFinished);
}

}  // namespace splitlet::sync_loop
