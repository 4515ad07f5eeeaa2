#pragma once

/// Pods whose records cannot be read: nothing is started or stopped for them, and `workers` shows
/// them without a state.
/// In:      what the start could not read, `splitletctl record discard`, a timer.
/// Owns:    which pods, and why.
/// Out:     puts to `workers`: present, of no known state and no incarnation; files put aside.
/// Killed:  the next start cannot read them either.
/// Threads: the loop's, but for files, listings and questions.
/// Errors:  of Discard: NOT_FOUND where every file can be read, and those of the disk.
/// Source:  docs/safety.md, rule 27.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/peers/desired_owner.h"
#include "services/pod-worker/records/disk_records.h"

namespace splitlet::v1 {
class DesiredRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class UnreadableRecords {
 public:
  using Done = std::function<void(StatusOr<std::vector<std::string>>)>;
  struct Deps {
    exec::Env env;
    const bus::View<v1::DesiredRecord>& desired;
    bus::Table<v1::WorkerRecord>& table;
    cri::Reader& reader;
    peers::DesiredOwner& owner;
    const DiskRecords& records;
    Duration request_timeout;
    Duration crash_loop_max;
    /// The unreadable files of this key are put aside; `left`: its other records.
    std::function<void(const std::string& key, const DiskRecords::All& left)> on_discarded;
  };
  explicit UnreadableRecords(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  void OnRead(std::map<std::string, DiskRecords::All::Unknown> unreadable);
  bool Contains(const std::string& key) const { return unreadable_.contains(key); }
  bool empty() const { return unreadable_.empty(); }
  /// A line for each pod.
  std::vector<std::string> Notes() const;
  /// Puts aside the files of pods whose manifest is gone and of which the runtime shows nothing.
  /// Now and then.
  void Collect();
  /// Answers with the new paths.
  void Discard(const std::string& key, Done done);

 private:
  void PutWorkers(const std::string& key);
  void CollectOne(const std::string& key, bool ask);
  struct PutAside {
    StatusOr<std::vector<std::string>> paths;
    StatusOr<DiskRecords::All> left;
  };
  void OnPutAside(const std::string& key, const PutAside& put, const Done& done);

  const Deps deps_;
  std::map<std::string, DiskRecords::All::Unknown> unreadable_;  // by key
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
