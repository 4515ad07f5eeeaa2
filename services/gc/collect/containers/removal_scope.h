#pragma once

/// Decides from the records of a pod's owners which leftovers of the pod may be removed.
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
  kUnknown,        // a record cannot be read: nothing of the pod is touched
  kUnmanaged,      // another program created the pod: nothing is touched
  kWanted,         // or not known well enough: the newest of each kind stays
  kRuntimeOnly,    // finished, and the node is short of disk: containers and sandboxes may go
  kKeepDirectory,  // evicted: containers, sandboxes and logs may go
  kEverything,     // deleted and finished, or without any record: everything may go
};

/// A record as a view shows it.
template <class R>
struct Seen {
  bool present = false;
  const R* record = nullptr;  // nullptr while present: the record cannot be decoded
};

struct ScopeInput {
  Seen<v1::DesiredRecord> desired;
  Seen<v1::WorkerRecord> worker;
  /// `desired` and `workers` are live and complete, `desired` for the pod's source. Then a record
  /// that they do not show does not exist.
  bool views_complete = false;
  /// Runtime or disk show that this node created the pod.
  bool ours = false;
  bool kill_unmanaged_pods = false;
  /// The round frees what it can before a pod has to be evicted.
  bool short_of_disk = false;
};

struct Scope {
  RemovalScope scope = RemovalScope::kUnknown;
  /// The decision rests on the absence from `desired`: config-source must confirm the absence
  /// before anything is removed.
  bool by_absence = false;
  /// The pod has no record: no process of splitlet has terminated its containers.
  bool unrecorded = false;
  bool operator==(const Scope&) const = default;
};

Scope ComputeScope(const ScopeInput& input);

}  // namespace splitlet::gc
