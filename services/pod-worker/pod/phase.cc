#include "services/pod-worker/pod/phase.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/cri/incarnation.h"
#include "libs/kube/restart_policy.h"
#include "services/pod-worker/pod/observed.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

using v1::ContainerRecord;
using v1::ObservedPod;
using Ids = std::set<std::string>;

/// How many of the regular containers are in which condition.
struct Tally {
  int waiting = 0, running = 0, stopped = 0, succeeded = 0, restartable = 0;
};

Tally CountRegular(const kube::Pod& pod, const ObservedPod& seen, const Ids& replacing) {
  Tally tally;
  for (const auto& container : pod.spec().containers()) {
    const ContainerRecord* newest = NewestRecord(seen, container.name());
    if (newest == nullptr || newest->state() == ContainerRecord::CREATED ||
        newest->state() == ContainerRecord::UNKNOWN) {
      ++tally.waiting;
    } else if (newest->state() == ContainerRecord::RUNNING) {
      ++tally.running;
    } else {
      ++tally.stopped;
      if (newest->exit_code() == 0) ++tally.succeeded;
      if (replacing.contains(newest->id()) ||
          RestartsAfter(pod, container, *newest, newest->exit_code()))
        ++tally.restartable;
    }
  }
  return tally;
}

bool InitFailedForGood(const kube::Pod& pod, const ObservedPod& seen, const Ids& replacing) {
  return std::any_of(pod.spec().init_containers().begin(), pod.spec().init_containers().end(),
                     [&](const kube::Container& container) {
                       const ContainerRecord* newest = NewestRecord(seen, container.name());
                       if (newest == nullptr || kube::IsSidecar(container)) return false;
                       if (newest->state() != ContainerRecord::EXITED || !HasFailed(*newest))
                         return false;
                       if (replacing.contains(newest->id())) return false;
                       const int32_t failure = std::max(newest->exit_code(), 1);
                       return !RestartsAfter(pod, container, *newest, failure);
                     });
}

}  // namespace

/// No process saw how it ended, perhaps well. A container that is to run once must not run a second
/// time; the others run until they end well.
bool RestartsLost(const kube::Pod& pod, const kube::Container& container) {
  return kube::RestartPolicyOf(pod, container) != "Never";
}

bool RestartsAfter(const kube::Pod& pod, const kube::Container& container,
                   const ContainerRecord& ended, int32_t exit_code) {
  if (cri::IsLost(ended)) return RestartsLost(pod, container);
  return kube::RestartsAfterExit(pod, container, exit_code);
}

bool ShouldRestart(const kube::Pod& pod, const kube::Container& container,
                   const ContainerRecord* newest) {
  if (pod.metadata().has_deletion_timestamp()) return false;
  if (newest == nullptr) return true;
  if (newest->state() == ContainerRecord::RUNNING) return false;
  if (newest->state() != ContainerRecord::EXITED) return true;
  return RestartsAfter(pod, container, *newest, newest->exit_code());
}

std::string TerminalPhase(const kube::Pod& pod, const ObservedPod& seen, const Ids& replacing) {
  if (InitFailedForGood(pod, seen, replacing)) return "Failed";
  const Tally tally = CountRegular(pod, seen, replacing);
  if (tally.waiting > 0 || tally.running > 0 || tally.restartable > 0 || tally.stopped == 0)
    return "";
  return tally.stopped == tally.succeeded ? "Succeeded" : "Failed";
}

std::string PhaseAfterKill(const kube::Pod& pod, const ObservedPod& seen) {
  const std::string natural = TerminalPhase(pod, seen);
  if (!natural.empty() || kube::IsStatic(pod)) return natural;
  const Tally tally = CountRegular(pod, seen, {});
  const bool all_good = tally.stopped == tally.succeeded && tally.waiting == 0 && tally.stopped > 0;
  return all_good ? "Succeeded" : "Failed";
}

}  // namespace splitlet::pod_worker
