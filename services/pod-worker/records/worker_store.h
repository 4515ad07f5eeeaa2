#pragma once

/// Writes workers to the disk, and alone puts their records into the table: the table must never
/// show more than the disk holds.
/// In:      Save for each change that has to be remembered, PutWorkers for each that has not.
/// Owns:    of each worker the writes that are under way, and the one that failed and is tried
///          again; the reserve of the disk.
/// Out:     the files of workers and terminal statuses; puts to `workers`; answers to callers.
/// Killed:  the next start reads a change that was written; a change that was not written was never
///          published.
/// Threads: the loop's, but for the files.
/// Errors:  UNAVAILABLE to the caller whose change could not be written; it is tried until it
///          works.
/// Source:  docs/safety.md, rules 3, 19 and 28.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/records/disk_records.h"

namespace splitlet::v1 {
class WorkerRecord;
}

namespace splitlet::pod_worker {

/// How long to wait before what failed for want of a file or the runtime is tried again.
inline constexpr Duration kTryAgain = std::chrono::seconds{1};

/// Files to be written of a worker beside its state.
struct Durability {
  bool permanent = false;  // the file for ever too
  bool fsync = false;      // of that file: not even a power cut loses it
};
/// How often the reserve of the disk is checked.
inline constexpr Duration kRoomPeriod = std::chrono::seconds{10};

class WorkerStore {
 public:
  using Done = std::function<void(Status)>;
  struct Deps {
    exec::Env env;
    bus::Table<v1::WorkerRecord>& table;
    const DiskRecords& records;
    const Workers& workers;
    /// Advanced when nothing of the worker is on its way to the disk any more.
    PodAdvancer& pods;
  };
  explicit WorkerStore(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  /// Writes what the worker is now; then puts its record, answers, and has the pod gone on with.
  /// Tried until it works.
  void Save(Worker& worker, Durability what, Done done = nullptr);
  /// While something of the worker is on its way to the disk, the end of the save puts it.
  void PutWorkers(const Worker& worker);
  /// The worker is erased: its files of this boot go.
  void Forget(const std::string& uid);
  /// And those for ever.
  void ForgetForEver(const std::string& uid);
  /// Reserves the disk space that the records of ends need, before the disk is full. Now and then.
  void KeepRoom();

 private:
  struct Writes {
    int under_way = 0;  // the one that is tried again is one of them
    std::optional<Durability> failed;
    std::string error;
  };
  void OnSaved(const v1::WorkerRecord& saved, Durability what, const Done& done,
               const Status& status);
  void TryAgain(const std::string& uid, Durability what, const std::string& why);
  void Put(const Worker& worker, v1::WorkerRecord record);
  void OnRoomKept(const Status& kept);

  const Deps deps_;
  std::map<std::string, Writes> writes_;  // by UID; only while something is under way
  std::string room_trouble_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
