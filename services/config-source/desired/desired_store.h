#pragma once

/// The pods of the table `desired` and their files: file first, then table.
/// Owns:  table `desired`; a file for each pod, kept over reboots: the record with incarnation,
/// generation and last good pod. The file of a removed pod outlives its record in the table.
/// Killed at any line: a pod whose file was written and whose record was not put is put by the next
/// start, and a removed pod whose file is still there is put as REMOVED once more.
/// Threads: loop thread; files are read and written on strands.
/// Errors: a save that fails is retried every second, and error() shows it. The REMOVED record of a
/// pod is put without waiting for its file.
/// fs::RecordWriter does not fit: the record is made again for each attempt, a removed pod is put
/// although its save failed, and a failed removal of a file is repeated too.
/// Source: docs/safety.md, rules 3 and 9.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "services/config-source/desired/file_state.h"
#include "services/config-source/desired/merge.h"
#include "services/config-source/desired/record_key.h"
#include "services/config-source/metrics.h"

namespace splitlet::v1 {
class DesiredRecord;
}

namespace splitlet::config_source {

/// A call that the disk has not answered for this long makes the process unready.
inline constexpr Duration kDiskLimit = std::chrono::seconds{10};

class DesiredStore {
 public:
  struct Deps {
    exec::Env env;
    std::shared_ptr<fs::RecordStore> records;
    bus::Table<v1::DesiredRecord> table;
    ConfigMetrics& metrics;
  };
  /// `on_put`: called after a record is put into the table, or removed from it.
  DesiredStore(Deps deps, std::function<void(const std::string& uid)> on_put);
  ~DesiredStore();

  /// Reads all records, again until it succeeds. Then puts the removed pods and calls `done`.
  void Load(std::function<void()> done);

  const DesiredPods& pods() const { return pods_; }
  bool IsPut(const std::string& uid) const;
  /// Pods whose file a newer version wrote: their records are neither put nor removed.
  const std::set<RecordKey>& blocked() const { return blocked_; }
  bool IsBlocked(const std::string& uid) const;
  /// It is not known whether this pod is wanted: its saved record cannot be read, and no source
  /// wants it.
  bool IsUnknown(const std::string& uid) const;
  /// Files that cannot be read, and why: blocked ones, and broken ones. A broken file is
  /// replaced once a source wants its pod.
  const std::map<RecordKey, std::string>& unreadable() const { return unreadable_; }
  /// Broken files whose pods no source wants.
  std::vector<RecordKey> Broken() const;
  /// Moves the unreadable file away: then the pod is as if it was never saved. `done` runs on the
  /// loop. NOT_FOUND: the pod has no unreadable file. UNAVAILABLE: the file is being written.
  void PutAside(const RecordKey& key, std::function<void(StatusOr<std::string> path)> done);
  /// The error of reading the records or of the last save of a pod, also of a call that the disk
  /// has not answered within kDiskLimit; empty: none.
  std::string error() const;

  /// Saves `pod`, then puts it. The record carries its traceparent. A mirror pod has no file:
  /// nothing depends on its last state.
  void Set(const std::string& uid, DesiredPod pod);
  /// The source delivered other bytes that mean the same as the record.
  void SetBaseline(const std::string& uid, std::shared_ptr<const std::string> baseline);
  /// An unconfirmed pod is wanted in this boot; no effect on other pods.
  void Confirm(const std::string& uid);
  /// A mirror pod leaves the table.
  void DropMirror(const std::string& uid, const std::string& traceparent);
  /// Puts a saved pod that did not change, or one with another problem. Neither needs a save.
  void PutAgain(const std::string& uid, const std::string& problem);
  /// Removes the record of a removed pod from the table, once its file says REMOVED. The file
  /// stays. The removal carries the traceparent.
  void Withdraw(const std::string& uid, const std::string& traceparent);
  /// The incarnation of a withdrawn pod, until it is forgotten or added again.
  std::optional<int64_t> WithdrawnIncarnation(const std::string& uid) const;
  /// Removes the file of a withdrawn pod.
  void Forget(const RecordKey& key);
  std::unique_ptr<v1::DesiredRecord> Get(const std::string& uid) const;
  void SetComplete(std::set<std::string> scopes);

 private:
  struct Progress {
    bool put = false;  // some version of the pod is in the table
    FileState file = FileState::kWritten;
    Clock::Time writing_since;  // of the last write
    std::string error;          // of the last write that ended; empty when it worked
    exec::TimerId retry = 0;    // set in kFailed

    bool IsWriting() const { return file == FileState::kWriting || file == FileState::kOutdated; }
  };
  void OnLoaded(const StatusOr<fs::RecordStore::All>& all, const std::function<void()>& done);
  bool IsWriting(const RecordKey& key) const;
  void Restore(const fs::RecordStore::Record& saved);
  /// The only writer of Progress::file. True: a write has to begin.
  bool MoveFile(const std::string& uid, FileEvent event);
  /// Saves the newest record, now or after the write in flight.
  void Write(const std::string& uid);
  void Save(const std::string& uid);
  void OnSaved(const std::string& uid, const Status& saved);
  void OnForgotten(const std::string& uid, const Status& forgotten);
  void PutDesired(const std::string& uid);
  /// Drops all state of the pod too.
  void RemoveDesired(const std::string& uid, const std::string& traceparent);
  void RetryLater(const std::string& uid, const Status& status, exec::Task again);
  LogField TraceField(const std::string& uid) const;
  v1::DesiredRecord RecordOf(const std::string& uid) const;

  Deps deps_;
  std::function<void(const std::string&)> on_put_;
  DesiredPods pods_;
  std::map<std::string, Progress> progress_;  // by UID
  struct Withdrawn {
    std::string uid;
    int64_t incarnation = 0;
  };
  std::map<RecordKey, Withdrawn> withdrawn_;
  std::set<RecordKey> blocked_;
  std::map<RecordKey, std::string> unreadable_;
  std::string load_error_;
  exec::TimerId load_retry_ = 0;
  Clock::Time loading_since_;  // no time: no read is in flight
  const exec::Asker asker_;    // the last member: its end stops all callbacks
};

}  // namespace splitlet::config_source
