#include "services/sync-loop/admission/load.h"

namespace splitlet::sync_loop {
namespace {

using Worker = WorkerDigest::State;

/// The pod's source or its worker ends this incarnation.
bool Ends(const LoadInput& input) {
  const WorkerDigest& worker = *input.worker;
  if (worker.state == Worker::kTerminating) return true;
  if (input.pod == nullptr) return false;
  const PodDigest& pod = *input.pod;
  if (pod.incarnation != worker.incarnation) return pod.incarnation > worker.incarnation;
  return pod.state == PodDigest::State::kRemoved || pod.ending || pod.terminal;
}

/// A running part still holds its resources: pod-worker may take a later version of the pod.
bool IsRefused(const LoadInput& input) {
  const WorkerDigest* worker = input.worker;
  const PodDigest& pod = *input.pod;
  return !input.running && worker != nullptr && worker->incarnation == pod.incarnation &&
         worker->Refuses(pod.generation);
}

/// The pod will be granted as soon as pod-worker answers.
bool WillBeGranted(const LoadInput& input) {
  if (input.admitted_incarnation == 0 || input.pod == nullptr) return false;
  const PodDigest& pod = *input.pod;
  if (pod.state == PodDigest::State::kUnknown) return true;
  if (IsRefused(input)) return false;
  return pod.state == PodDigest::State::kWanted && !pod.ending && !pod.terminal &&
         pod.incarnation == input.admitted_incarnation;
}

Standing Ungranted(const LoadInput& input) {
  const bool will = WillBeGranted(input);
  return {.counts = will || input.called, .ends = input.called && !will};
}

}  // namespace

Standing ComputeStanding(const LoadInput& input) {
  const WorkerDigest* worker = input.worker;
  if (worker == nullptr) return Ungranted(input);
  if (worker->state == Worker::kUnknown) return {.counts = true};
  const bool stopped = worker->state == Worker::kTerminated || worker->state == Worker::kFinished;
  if (worker->granted && !stopped) return {.counts = true, .ends = Ends(input)};
  const bool later = input.admitted_incarnation > worker->incarnation;
  const bool same =
      input.admitted_incarnation == worker->incarnation && worker->state == Worker::kSyncing;
  return later || same ? Ungranted(input) : Standing{};
}

NodeLoad WithReserved(const NodeLoad& load, const Allocation& allocation) {
  NodeLoad sum = load;
  // A prefix, because the earlier incarnation of a waiting pod may still hold resources.
  for (const auto& [key, requests] : allocation.reserved) sum.Set("reserved/" + key, requests);
  return sum;
}

}  // namespace splitlet::sync_loop
