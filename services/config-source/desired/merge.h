#pragma once

/// The changes that a set of a source makes to `desired`: ADD, UPDATE, REMOVE, RECONCILE, DELETE.
/// Pure.
/// Threads: any.
/// Errors: none; ignored pods are listed with the reason.
/// Source: docs/behaviour/config-sources.md, "The merge" and "Incarnations of a UID";
/// docs/safety.md, rule 9.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/desired/pod_state.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

/// In the order in which they are carried out: a name is freed before it is used again.
enum class Operation { kRemove, kAdd, kUpdate, kDelete, kReconcile };
std::string_view OperationName(Operation operation);
std::vector<std::string> OperationNames();

/// A pod of the table.
struct DesiredPod {
  std::string name, name_space, source, origin;
  PodState state = PodState::kWanted;
  int64_t incarnation = 0, generation = 0;
  WallTime seen_at;                        // first, in this incarnation
  std::string problem;                     // why the record keeps the last good version
  std::shared_ptr<const std::string> pod;  // serialised, as in the table; the last one when removed
  std::shared_ptr<const std::string>
      baseline;             // the source's last version; nullptr after a restart
  std::string traceparent;  // of its last change; empty after a restart

  void On(PodEvent event) { state = Next(state, event); }
  bool IsRemoved() const { return state == PodState::kRemoved; }
  bool IsMirror() const { return state == PodState::kMirror; }
};
using DesiredPods = std::map<std::string, DesiredPod>;  // by UID

struct Change {
  Operation operation;
  std::string uid;
  SourcePodRef pod;  // nullptr for kRemove
};

struct Ignored {
  SourcePodRef pod;
  bool duplicate_name = false;  // within the set; else the UID belongs to another source
  std::string reason;
};

struct MergeResult {
  std::vector<Change> changes;  // by operation, then as in the set
  std::vector<Ignored> ignored;
};

/// Why a second pod of a full name is ignored, in the kubelet's words.
std::string DuplicateReason(const std::string& name);

MergeResult ComputeMerge(const DesiredPods& desired, const std::string& source,
                         const SourceSet& set);

/// The operation that turns `stored` into `wanted`; nothing when they mean the same.
/// Quantities compare by value; annotations that the merge owns are left out.
std::optional<Operation> Classify(const kube::Pod& stored, const kube::Pod& wanted);

/// "2026-01-02T03:04:05.000000006+01:00", in the local time zone.
std::string FormatSeen(WallTime time);

/// The pod for the table: with the annotations config.source and config.seen. An update keeps the
/// local annotations of the stored pod. Both are serialised; `stored` is nullptr for a new pod.
std::shared_ptr<const std::string> StampPod(const std::string& wanted, const std::string* stored,
                                            const std::string& source, WallTime now);

/// `stored` with the status and the version of `wanted`. Both are serialised.
std::shared_ptr<const std::string> WithStatus(const std::string& stored, const std::string& wanted);

}  // namespace splitlet::config_source
