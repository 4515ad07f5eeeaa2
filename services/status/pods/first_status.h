#pragma once

/// Whether the first status of a pod since the start of this process may be put. Pure.
/// A status put too early takes back what an API client saw before the start: Running becomes
/// Pending, Failed becomes Pending, ready becomes not ready.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/status.md, "First status after a start"; docs/safety.md, rules 20 to 22.

#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// The state of a table's view. A complete view is live too.
enum class TableState { kStale, kLive, kComplete };

struct SeenTable {
  TableState state = TableState::kStale;
  bool was_complete = false;  // once since the start
};

struct FirstStatusInputs {
  bool removed = false;                            // `desired` no longer wants the pod
  const v1::WorkerRecord* worker = nullptr;        // of any incarnation
  const v1::AdmissionRecord* admission = nullptr;  // of this incarnation
  const v1::RuntimeRecord* runtime = nullptr;
  SeenTable workers_table, admission_table, runtime_table;
  bool waited_long = false;  // the start is so long ago that no process is waited for
  bool vouched = true;       // the listing of the runtime vouches for this pod
};

/// The reason why the first status of a pod waits.
enum class FirstStatusWait {
  kNothing,
  kWorker,            // the pod is removed, and its worker record has not arrived or is gone
  kWorkers,           // the pod may run or be over: `workers` was never complete
  kTermination,       // its worker has a terminal status and is not terminated
  kRefusalConfirmed,  // it was refused, and `workers` does not vouch that it has no grant
  kAdmission,         // it has no decision and no grant, and `admission` is not complete
  kFlags,             // it runs, and flags of a stale `workers` cannot rise
  kListing,           // its worker acted, and the runtime was not listed since
};
FirstStatusWait FindFirstStatusWait(const FirstStatusInputs& in);

/// The pod was refused, and it is certain to have no grant; a refusal that was shown stands.
struct RejectionInputs {
  const v1::AdmissionRecord* admission = nullptr;  // of this incarnation
  const v1::WorkerRecord* worker = nullptr;        // of this incarnation
  const kube::PodStatus* previous = nullptr;
  bool workers_complete = false;
  bool worker_unreadable = false;  // `workers` has a record of the pod that cannot be decoded
};
bool IsRejected(const RejectionInputs& in);

}  // namespace splitlet::status
