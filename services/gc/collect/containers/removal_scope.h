#pragma once

/// What may become of a pod's remains, from what its owners say of it.
/// Threads: pure.
/// Errors: none.
/// Source: docs/safety.md, rules 7, 8, 10 and 25; docs/behaviour/garbage-collection.md, "Fate of a
/// pod".

#include <cstdint>
#include <optional>

namespace splitlet::v1 {
class DesiredRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::gc {

enum class RemovalScope {
  kUnknown,        // a record cannot be read: nothing of it is touched
  kUnmanaged,      // made by somebody else: left alone
  kWanted,         // or not known well enough: the newest of each stays
  kRuntimeOnly,    // finished, while the node is short of room: what is left in the runtime may go
  kKeepDirectory,  // evicted: what it left in the runtime and its logs may go
  kEverything,     // deleted and finished, or known to nobody: everything may go
};

/// A record as a view shows it.
template <class R>
struct Seen {
  bool present = false;
  const R* record = nullptr;  // nullptr while present: cannot be decoded
};

struct ScopeInput {
  Seen<v1::DesiredRecord> desired;
  Seen<v1::WorkerRecord> worker;
  /// `desired` and `workers` are live and complete, `desired` for the pod's source: what they do
  /// not show is not there.
  bool views_complete = false;
  /// Runtime or disk show that this node made it.
  bool ours = false;
  bool kill_unmanaged_pods = false;
  /// The round is to free what it can before a pod has to go.
  bool short_of_room = false;
};

struct Scope {
  RemovalScope scope = RemovalScope::kUnknown;
  /// Rests on the absence from `desired`: config-source has to be asked before anything is removed.
  bool by_absence = false;
  /// No record of any owner speaks of it: nobody here has ended what it may still run.
  bool unrecorded = false;
  bool operator==(const Scope&) const = default;
};

Scope ComputeScope(const ScopeInput& input);

}  // namespace splitlet::gc
