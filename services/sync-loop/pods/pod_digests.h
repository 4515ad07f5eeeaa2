#pragma once

/// The fields of other processes' records that sync-loop needs, parsed once per change.
/// Threads: values.
/// Errors: a record that cannot be parsed, or has no pod, has state kUnknown.
/// Source: docs/safety.md, rule 11.

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/kube/pod_bytes.h"

namespace splitlet::v1 {
class DesiredRecord;
class RuntimeRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::sync_loop {

/// From `desired`.
struct PodDigest {
  enum class State { kUnknown, kWanted, kUnconfirmed, kRemoved, kMirror };
  State state = State::kUnknown;
  std::string uid, name, name_space, source;
  int64_t incarnation = 0, generation = 0;
  // The order of admission, in wall milliseconds: the incarnation of a static pod, the creation
  // time of an API pod, else the time at which its source first showed it.
  int64_t order_ms = 0;
  bool is_static = false;
  bool ending = false;    // has a deletion timestamp
  bool terminal = false;  // Succeeded or Failed in the API
  std::string traceparent;
  kube::PodBytes pod;  // empty if the state is kUnknown
};
PodDigest DigestOf(const v1::DesiredRecord& record);
/// `after` is a later generation of the same incarnation, and both have a pod.
bool IsEdited(const PodDigest& before, const PodDigest& after);

/// From `workers`.
struct WorkerDigest {
  enum class State { kUnknown, kSyncing, kTerminating, kTerminated, kFinished };
  State state = State::kUnknown;
  std::string uid;
  int64_t incarnation = 0, generation = 0;
  bool granted = false;
  bool removed = false;            // no source wants the worker's incarnation any more
  int64_t refused_generation = 0;  // its grant is refused for good; 0: none

  /// pod-worker refuses each grant of this generation for good.
  bool Refuses(int64_t of_generation) const {
    return refused_generation != 0 && refused_generation >= of_generation;
  }
};
WorkerDigest DigestOf(const v1::WorkerRecord& record);

/// From `runtime`.
struct RuntimeDigest {
  struct Sandbox {
    std::string id, node_annotation;
    bool operator==(const Sandbox&) const = default;
  };
  std::string uid, name, name_space;
  std::vector<Sandbox> sandboxes;
  bool running = false;       // a ready sandbox or a running container
  bool inspected = true;      // the last inspection went well
  int64_t grace_seconds = 1;  // greatest of the annotations, at least 1
};
RuntimeDigest DigestOf(const v1::RuntimeRecord& record);

/// A part of the pod ended or vanished, or was found dead. Parts that pod-worker made or started,
/// and the removal of dead parts, make no work.
bool MakesWork(const v1::RuntimeRecord* before, const v1::RuntimeRecord& after);

}  // namespace splitlet::sync_loop
