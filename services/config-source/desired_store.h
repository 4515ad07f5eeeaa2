#pragma once

/// The pods of the table `desired` with what must not be forgotten of them: file first, then table.
/// Owns:  table `desired`; one fact file for each pod, for ever: the record with incarnation,
/// generation, last good pod. The file of a removed pod outlives its record in the table.
/// Killed at any line: a pod whose file was written and whose record was not put is put by the next
/// start, and a removed pod whose file is still there is put as REMOVED once more.
/// Threads: loop thread; files are read and written on strands.
/// Errors: a save that fails is tried again every second, and shows in error(); a removal does not
/// wait for it.
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
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "services/config-source/merge.h"
#include "services/config-source/metrics.h"

namespace splitlet::v1 {
class DesiredRecord;
}

namespace splitlet::config_source {

class DesiredStore {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<fs::RecordStore> facts;
    bus::Table<v1::DesiredRecord> table;
    Log log;
    ConfigMetrics& metrics;
  };
  /// `on_put` after a record is in the table, or gone from it.
  DesiredStore(Deps deps, std::function<void(const std::string& uid)> on_put);
  ~DesiredStore();

  /// Reads all facts, again and again until that works; then puts the removed pods and calls
  /// `done`.
  void Load(std::function<void()> done);

  const KnownPods& pods() const { return pods_; }
  bool IsPut(const std::string& uid) const;
  /// Facts of a newer version of the program: nothing may be said of these pods.
  const std::set<std::string>& blocked() const { return blocked_; }
  bool IsBlocked(const std::string& uid) const;
  /// Nobody can say whether this pod is wanted: what is remembered of it cannot be read, and no
  /// source gives it.
  bool IsUnknown(const std::string& uid) const;
  /// Files that cannot be read, and why, by key: the blocked ones, and broken ones, whose pods are
  /// known again once their source gives them.
  const std::map<std::string, std::string>& unreadable() const { return unreadable_; }
  /// Keys of the broken ones that no source gives.
  std::vector<std::string> Broken() const;
  /// On the loop: such a pod is as one that was never remembered. NOT_FOUND: its file can be read.
  void PutAside(const std::string& key, std::function<void(StatusOr<std::string> path)> done);
  /// Why facts cannot be read, or those of a pod not be written; empty when all can.
  std::string error() const;

  /// Takes over `pod` as it is to be: file, then table. The record carries its traceparent. A
  /// mirror pod has no file: nothing rests on what it was.
  void Set(const std::string& uid, KnownPod pod);
  /// Remembers what the source gave, where that means the same as the record.
  void SetFrom(const std::string& uid, std::shared_ptr<const std::string> from);
  /// A pod of another boot is wanted in this one; no effect on others.
  void Confirm(const std::string& uid);
  /// A mirror pod leaves the table.
  void DropMirror(const std::string& uid, const std::string& traceparent);
  /// Puts a remembered pod that still stands, or one with another problem; there is nothing to save
  /// in either case.
  void PutAgain(const std::string& uid, const std::string& problem);
  /// A removed pod leaves the table, once its file says REMOVED; the file stays. The removal
  /// carries the traceparent.
  void Withdraw(const std::string& uid, const std::string& traceparent);
  /// The last incarnation of a pod that was withdrawn, and neither forgotten nor added again.
  std::optional<int64_t> WithdrawnIncarnation(const std::string& key) const;
  /// Forgets a pod that was withdrawn: its file goes too.
  void Forget(const std::string& key);
  std::unique_ptr<v1::DesiredRecord> Get(const std::string& uid) const;
  void SetComplete(std::set<std::string> scopes);

 private:
  struct Progress {
    bool put = false;      // some version of it is in the table
    bool saving = false;   // its strand is at work
    bool changed = false;  // since the save began
    std::string error;     // of the last save; empty when it worked
    exec::TimerId retry = 0;
  };
  void OnLoaded(const StatusOr<fs::RecordStore::All>& all, const std::function<void()>& done);
  void Remember(const fs::RecordStore::Record& fact);
  void Save(const std::string& uid);
  void OnSaved(const std::string& uid, const Status& saved);
  void OnForgotten(const std::string& uid, const Status& forgotten);
  void PutDesired(const std::string& uid);
  /// And forgets what was known of it.
  void RemoveDesired(const std::string& uid, const std::string& traceparent);
  void RetryLater(const std::string& uid, const Status& status, exec::Task again);
  LogField TraceField(const std::string& uid) const;
  v1::DesiredRecord RecordOf(const std::string& uid) const;

  Deps deps_;
  std::function<void(const std::string&)> on_put_;
  KnownPods pods_;
  std::map<std::string, Progress> progress_;
  struct Withdrawn {
    std::string uid;
    int64_t incarnation = 0;
  };
  std::map<std::string, Withdrawn> withdrawn_;  // by key
  std::set<std::string> blocked_;               // keys
  std::map<std::string, std::string> unreadable_;
  std::string load_error_;
  exec::TimerId load_retry_ = 0;
};

}  // namespace splitlet::config_source
