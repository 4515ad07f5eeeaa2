#include "services/sync-loop/admission/load.h"

namespace splitlet::sync_loop {
namespace {

using Worker = WorkerDigest::State;

/// Somebody has said that this incarnation is over.
bool Ends(const LoadQuestion& question) {
  const WorkerDigest& worker = *question.worker;
  if (worker.state == Worker::kTerminating) return true;
  if (question.pod == nullptr) return false;
  const PodDigest& pod = *question.pod;
  if (pod.incarnation != worker.incarnation) return pod.incarnation > worker.incarnation;
  return pod.state == PodDigest::State::kRemoved || pod.ending || pod.terminal;
}

/// Another version of the pod or of pod-worker may come; what runs meanwhile takes room.
bool IsRefused(const LoadQuestion& question) {
  const WorkerDigest* worker = question.worker;
  const PodDigest& pod = *question.pod;
  return !question.running && worker != nullptr && worker->incarnation == pod.incarnation &&
         worker->Refuses(pod.generation);
}

/// It will be granted as soon as pod-worker answers.
bool WillBeGranted(const LoadQuestion& question) {
  if (question.admitted_incarnation == 0 || question.pod == nullptr) return false;
  const PodDigest& pod = *question.pod;
  if (pod.state == PodDigest::State::kUnknown) return true;
  if (IsRefused(question)) return false;
  return pod.state == PodDigest::State::kWanted && !pod.ending && !pod.terminal &&
         pod.incarnation == question.admitted_incarnation;
}

Standing Ungranted(const LoadQuestion& question) {
  const bool will = WillBeGranted(question);
  return {.counts = will || question.called, .ends = question.called && !will};
}

}  // namespace

Standing ComputeStanding(const LoadQuestion& question) {
  const WorkerDigest* worker = question.worker;
  if (worker == nullptr) return Ungranted(question);
  if (worker->state == Worker::kUnknown) return {.counts = true};
  const bool stopped = worker->state == Worker::kTerminated || worker->state == Worker::kFinished;
  if (worker->granted && !stopped) return {.counts = true, .ends = Ends(question)};
  const bool later = question.admitted_incarnation > worker->incarnation;
  const bool same =
      question.admitted_incarnation == worker->incarnation && worker->state == Worker::kSyncing;
  return later || same ? Ungranted(question) : Standing{};
}

NodeLoad WithAwaited(const NodeLoad& load, const Room& room) {
  NodeLoad sum = load;
  // Keys of their own: the earlier incarnation of one that waits may still hold something.
  for (const auto& [key, requests] : room.awaited) sum.Set("awaited/" + key, requests);
  return sum;
}

}  // namespace splitlet::sync_loop
