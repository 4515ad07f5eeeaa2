#pragma once

/// What a set of a source changes among the known pods: ADD, UPDATE, REMOVE, RECONCILE, DELETE.
/// Pure.
/// Threads: any.
/// Errors: none; pods that cannot be taken are listed with the reason.
/// Source: docs/behaviour/config-sources.md, "The merge" and "Life of a UID"; docs/safety.md, rule
/// 9.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

/// In the order in which they are carried out: a name is freed before it is taken again.
enum class Operation { kRemove, kAdd, kUpdate, kDelete, kReconcile };
std::string_view OperationName(Operation operation);

/// A pod of the table.
struct KnownPod {
  std::string name, name_space, source, origin;
  bool removed = false;
  bool mirror = false;       // the API's image of a static pod: never to run
  bool unconfirmed = false;  // remembered from another boot: starts and stops nothing
  int64_t incarnation = 0, generation = 0;
  WallTime seen_at;                        // first, in this incarnation
  std::string problem;                     // why the last good version still stands
  std::shared_ptr<const std::string> pod;  // serialised, as in the table; the last one when removed
  std::shared_ptr<const std::string> from;  // what the source gave for it; nullptr after a restart
  std::string traceparent;                  // of its last change; empty after a restart
};
using KnownPods = std::map<std::string, KnownPod>;  // by UID

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

/// Why a second pod of a full name is ignored, as a kubelet says it.
std::string DuplicateReason(const std::string& name);

MergeResult ComputeMerge(const KnownPods& known, const std::string& source, const SourceSet& set);

/// What `wanted` is to a pod that is known as `stored`; nothing when they mean the same.
/// Quantities compare by value; annotations that the merge owns are left out.
std::optional<Operation> Classify(const kube::Pod& stored, const kube::Pod& wanted);

/// "2026-01-02T03:04:05.000000006+01:00", in the local time zone.
std::string FormatSeen(WallTime time);

/// The pod as it goes into the table: with the annotations config.source and config.seen, and,
/// after an update, with those local annotations that the stored one has. Both serialised; `stored`
/// is nullptr for a new pod.
std::shared_ptr<const std::string> StampPod(const std::string& wanted, const std::string* stored,
                                            const std::string& source, WallTime now);

/// `stored` with the status of `wanted` and its version. Both serialised.
std::shared_ptr<const std::string> WithStatus(const std::string& stored, const std::string& wanted);

}  // namespace splitlet::config_source
