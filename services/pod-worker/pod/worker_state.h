#pragma once

/// How far one incarnation of a pod is on this node.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/safety.md, rule 15; kubelet podWorkers.

namespace splitlet::pod_worker {

enum class WorkerState { kSyncing, kTerminating, kTerminated, kFinished };
enum class WorkerEvent {
  kEndRequested,  // a kill, REMOVED, a deletion timestamp, a later incarnation, the active deadline
  kCompleted,     // nothing of the pod will ever run again by itself
  kAllStopped,    // containers proven stopped, its terminal status goes to disk next
  kTornDown,      // directories of its volumes are gone
};

/// Only forward, per incarnation.
WorkerState Next(WorkerState state, WorkerEvent event);

}  // namespace splitlet::pod_worker
