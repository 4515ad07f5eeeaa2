#include "services/sync-loop/grants/next_call.h"

#include <algorithm>

namespace splitlet::sync_loop {
namespace {

using Kind = NextCall::Kind;
using Worker = WorkerDigest::State;

NextCall Kill(int64_t incarnation) { return {.kind = Kind::kKill, .incarnation = incarnation}; }

/// For a pod that must not run: one kill to its worker, unless it ends the pod already.
NextCall EndOf(const CallInput& input) {
  const bool syncs = input.worker != nullptr && input.worker->state == Worker::kSyncing;
  const bool unknown_there = input.worker == nullptr && input.worker_known && input.running;
  if (syncs) return Kill(input.worker->incarnation);
  return unknown_there ? Kill(input.pod->incarnation) : NextCall{};
}

NextCall CallForAdmitted(const CallInput& input) {
  const PodDigest& pod = *input.pod;
  const NextCall create{Kind::kCreate, pod.incarnation, pod.generation};
  const WorkerDigest* worker = input.worker;
  if (worker == nullptr) return input.worker_known ? create : NextCall{};
  if (worker->incarnation < pod.incarnation)
    return create;  // the earlier incarnation is finished, see the caller
  if (worker->state == Worker::kTerminated || worker->state == Worker::kFinished) return {};
  const bool refused = worker->Refuses(pod.generation);
  if (!worker->granted) return refused ? NextCall{} : create;
  if (worker->generation < pod.generation && !refused)
    return {Kind::kUpdate, pod.incarnation, pod.generation};
  if (input.sync_due && worker->state == Worker::kSyncing)
    return {Kind::kSync, pod.incarnation, std::min(worker->generation, pod.generation)};
  return {};
}

}  // namespace

NextCall ComputeNextCall(const CallInput& input) {
  if (input.pod == nullptr) return {};
  const PodDigest& pod = *input.pod;
  const WorkerDigest* worker = input.worker;
  if (worker != nullptr &&
      (worker->state == Worker::kUnknown || worker->incarnation > pod.incarnation))
    return {};
  switch (pod.state) {
    case PodDigest::State::kUnknown:
    case PodDigest::State::kUnconfirmed:
    case PodDigest::State::kMirror: return {};
    case PodDigest::State::kRemoved: return EndOf(input);
    case PodDigest::State::kWanted: break;
  }
  if (worker != nullptr && worker->incarnation < pod.incarnation &&
      worker->state != Worker::kFinished)
    return EndOf(input);
  const bool begun = worker != nullptr && worker->incarnation == pod.incarnation && worker->granted;
  // A phase that the node itself has told comes back after its worker has ended; this one is
  // somebody else's word.
  const bool ended_by_others = pod.terminal && begun && worker->state == Worker::kSyncing;
  if (((pod.ending || pod.terminal) && !begun) || ended_by_others) return EndOf(input);
  if (!input.admitted) return {};
  if (input.preempted && worker == nullptr)
    return input.worker_known ? Kill(pod.incarnation) : NextCall{};
  if (input.preempted) return EndOf(input);
  return CallForAdmitted(input);
}

}  // namespace splitlet::sync_loop
