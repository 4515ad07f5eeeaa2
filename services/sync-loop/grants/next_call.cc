#include "services/sync-loop/grants/next_call.h"

#include <algorithm>

namespace splitlet::sync_loop {
namespace {

using Kind = NextCall::Kind;
using Worker = WorkerDigest::State;

NextCall Kill(int64_t incarnation) { return {.kind = Kind::kKill, .incarnation = incarnation}; }

/// For a pod that must not run: a kill to its worker, unless the worker terminates the pod already.
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
    return create;  // ComputeNextCall returns before if the earlier incarnation is not finished
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
  const bool granted =
      worker != nullptr && worker->incarnation == pod.incarnation && worker->granted;
  // While the worker still syncs, another client wrote the terminal phase: this node writes it only
  // after its worker terminated.
  const bool ended_by_others = pod.terminal && granted && worker->state == Worker::kSyncing;
  if (((pod.ending || pod.terminal) && !granted) || ended_by_others) return EndOf(input);
  switch (input.admission) {
    case Admission::kNone: return {};
    case Admission::kAdmitted: return CallForAdmitted(input);
    case Admission::kPreempted: break;
  }
  if (worker != nullptr) return EndOf(input);
  return input.worker_known ? Kill(pod.incarnation) : NextCall{};
}

}  // namespace splitlet::sync_loop
