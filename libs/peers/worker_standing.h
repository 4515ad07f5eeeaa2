#pragma once

/// How far pod-worker is with a pod, as its record in `workers` shows it. Every reader of `workers`
/// asks this function, so that all agree about records without a state.
/// Threads: pure functions, any.
/// Errors: none; a record that cannot be parsed, or of a later version, is kUnknown.
/// Source: docs/safety.md, rule 11; proto/splitlet/v1/records.proto.

namespace splitlet::v1 {
class WorkerRecord;
}

namespace splitlet::peers {

enum class WorkerStanding {
  kAbsent,      // no record; in a complete view: no worker
  kFound,       // an incarnation without a state, found in the runtime or the files: no worker
  kUnreadable,  // neither: pod-worker cannot read the files of the pod
  kUnknown,     // the record cannot be parsed, or its state is of a later version
  kSyncing,
  kTerminating,
  kTerminated,
  kFinished,
};

/// `present`: the view has a record. `record`: nullptr without a record that can be parsed.
WorkerStanding ComputeWorkerStanding(bool present, const v1::WorkerRecord* record);
WorkerStanding ComputeWorkerStanding(const v1::WorkerRecord& record);

/// The pod has no worker. An absent record means this only in a complete view.
bool IsNoWorker(WorkerStanding standing);

}  // namespace splitlet::peers
