#pragma once

/// What a set of a source changes among the known pods: ADD, UPDATE, REMOVE, RECONCILE, DELETE.
/// Pure. Threads: any. Errors: none; pods that cannot be taken are listed with the reason.
/// Source: config-sources spec, section 11; DESIGN.md, rule 9.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/source.h"

namespace splitlet::config_source {

/// In the order in which they are carried out: a name is freed before it is taken again.
enum class Operation { kRemove, kAdd, kUpdate, kDelete, kReconcile };
std::string_view OperationName(Operation operation);

/// A pod of the table.
struct KnownPod {
  std::string name, name_space, source, origin;
  bool removed = false;
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

MergeResult ComputeMerge(const KnownPods& known, const std::string& source, const SourceSet& set);

/// What `wanted` is to a pod that is known as `stored`; nothing when they mean the same.
/// Quantities compare by value; annotations that the merge owns are left out.
std::optional<Operation> Classify(const kube::Pod& stored, const kube::Pod& wanted);

/// Incarnations and generations: the last one plus one, or wall time in ms, whichever is greater.
int64_t NextNumber(int64_t last, WallTime now);

/// What pod-worker says of a pod's life.
struct WorkerLife {
  int64_t incarnation = 0, generation = 0;
  bool finished = false;
  bool ended =
      false;  // terminating or later because it was taken away, not because its containers are done
};
struct Life {
  int64_t incarnation = 0, generation = 0;
};
/// The numbers of a pod that is added. `known`: its record, still REMOVED; nullptr when nothing is
/// remembered. Then a worker that goes on has the numbers to go on with, so that its pod is not
/// started anew. `after`: the last incarnation of the pods from the same place, so that it can be
/// told which came later, however the wall clock jumped.
Life ChooseLife(const KnownPod* known, const WorkerLife* worker, WallTime now, int64_t after);
/// The numbers of a wanted pod whose worker is already in a later life than we know of; nothing
/// when it is not.
std::optional<Life> CatchUp(const KnownPod& known, const WorkerLife& worker, WallTime now);

/// "2026-01-02T03:04:05.000000006+01:00", in the local time zone.
std::string FormatSeen(WallTime time);

/// The pod as it goes into the table: with the annotations config.source and config.seen, and,
/// after an update, with those local annotations that the stored one has. Both serialised; `stored`
/// is nullptr for a new pod.
std::shared_ptr<const std::string> StampPod(const std::string& wanted, const std::string* stored,
                                            const std::string& source, WallTime now);

}  // namespace splitlet::config_source
