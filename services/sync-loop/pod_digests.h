#pragma once

/// What sync-loop needs of the records of others, kept small and parsed once per change.
/// Threads: values.
/// Errors: nothing comes from a record that cannot be understood (docs/safety.md, rule 11).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

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
  // In which new pods are decided: incarnation of a static pod, creation of another, else when its
  // source first showed it. Wall milliseconds.
  int64_t order_ms = 0;
  bool is_static = false;
  bool ending = false;    // has a deletion timestamp
  bool terminal = false;  // Succeeded or Failed in the API
  std::string traceparent;
  std::shared_ptr<const v1::DesiredRecord> record;
};
PodDigest ReadPod(std::shared_ptr<const v1::DesiredRecord> record);

/// From `workers`.
struct WorkerDigest {
  enum class State { kUnknown, kSyncing, kTerminating, kTerminated, kFinished };
  State state = State::kUnknown;
  std::string uid;
  int64_t incarnation = 0, generation = 0;
  bool granted = false;
  bool removed = false;            // no source wants the worker's incarnation any more
  int64_t refused_generation = 0;  // whose grant pod-worker refuses whenever it comes; 0: none

  /// No grant of this generation of the worker's incarnation will be taken.
  bool Refuses(int64_t of_generation) const {
    return refused_generation != 0 && refused_generation >= of_generation;
  }
};
WorkerDigest ReadWorker(const v1::WorkerRecord& record);

/// From `runtime`.
struct RuntimeDigest {
  struct Sandbox {
    std::string id, node_annotation;
    bool operator==(const Sandbox&) const = default;
  };
  std::string uid, name, name_space;
  std::vector<Sandbox> sandboxes;
  bool running = false;       // a ready sandbox or a running container
  bool looked_at = true;      // the last inspection went well
  int64_t grace_seconds = 1;  // greatest of the annotations, at least 1
};
RuntimeDigest ReadRuntime(const v1::RuntimeRecord& record);

/// Something has ended or vanished, or was found dead. What pod-worker has made or started, and the
/// removal of what was dead, make no work.
bool MakesWork(const v1::RuntimeRecord* before, const v1::RuntimeRecord& after);

}  // namespace splitlet::sync_loop
