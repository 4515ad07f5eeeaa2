#pragma once

/// The admissions of this boot: on disk first, then in the table `admission`.
/// In:    decisions, from PodAdmitter; the files of this boot, once.
/// Owns:  the admission of each pod, and its file.
/// Out:   puts to `admission`; `saved` for each decision that is on disk and in the table.
/// Killed after the file was written: the next start reads it and puts the record.
/// Killed before: the pod is decided again.
/// Threads: loop thread; files on strands.
/// Errors: a save that fails is retried, counted, and logged when its error changes. A pod whose
/// file cannot be read is neither started nor stopped.
/// Source: docs/safety.md, rules 3, 12 and 15.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "libs/fs/record_store.h"
#include "libs/fs/record_writer.h"
#include "libs/kube/pod_bytes.h"
#include "services/sync-loop/admission/requests.h"
#include "services/sync-loop/metrics.h"
#include "splitlet/v1/sync_loop.pb.h"

namespace splitlet::sync_loop {

/// How far the admission of one incarnation has come.
enum class AdmissionState {
  kWaiting,  // undecided, or decided to wait
  kSaving,   // decided and not on disk: no grant may follow from it
  kDecided,  // on disk and in the table
};

class AdmissionStore {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    bus::Table<v1::AdmissionRecord>& table;
    SyncLoopMetrics& metrics;
  };
  struct Entry {
    v1::SavedAdmission admission;  // its pod is beside it
    kube::PodBytes pod;            // as it was admitted; empty: it was not
    PodRequests requests;          // of an admitted pod
    bool saved = false;            // on disk and in the table
    bool earlier = false;          // from an earlier start of this process
    bool announced = false;        // an earlier WAITING decision recorded the event
    uint64_t version = 0;          // counts the decisions of this start
    std::string traceparent;
    int64_t incarnation() const { return admission.record().incarnation(); }
    bool admitted() const { return admission.record().decision() == v1::AdmissionRecord::ADMITTED; }
    bool rejected() const { return admission.record().decision() == v1::AdmissionRecord::REJECTED; }
    bool waiting() const { return admission.record().decision() == v1::AdmissionRecord::WAITING; }
  };
  /// `saved`: called for each decision that is on disk and in the table.
  AdmissionStore(const Deps& deps, std::string directory,
                 std::function<void(const std::string& key)> saved);

  /// Reads the files on a strand, again until it succeeds. Puts the records, makes the table
  /// complete, then calls `done`.
  void Read(std::function<void()> done);
  bool was_read() const { return read_; }
  /// The pod's file cannot be read: the pod is neither started nor stopped.
  bool IsUnreadable(const std::string& key) const { return unreadable_.contains(key); }
  std::vector<std::string> Unreadable() const;
  /// Moves the unreadable file away: then the pod has no admission. `done` runs on the loop.
  /// NOT_FOUND: the pod has no unreadable file.
  void PutAside(const std::string& key, std::function<void(StatusOr<std::string> path)> done);
  /// The unreadable pods whose file no version can read: it may be removed with its pod.
  std::vector<std::string> Broken() const;
  AdmissionState StateOf(const std::string& key, int64_t incarnation) const;
  /// nullptr: no decision.
  const Entry* Find(const std::string& key) const;
  const std::map<std::string, Entry>& entries() const { return entries_; }
  struct Decided {
    v1::SavedAdmission admission;  // without the pod
    kube::PodBytes pod = {};       // of an admitted pod, as its requests
    PodRequests requests = {};
    std::string traceparent = {};
  };
  /// The decision stands immediately, before it is on disk.
  void Decide(const std::string& key, Decided decided);
  /// The removal of the record will carry this trace.
  void SetTrace(const std::string& key, const std::string& traceparent);
  void Forget(const std::string& key);

 private:
  void OnRead(const StatusOr<fs::RecordStore::All>& all);
  /// An error if the record is no admission, or has no valid pod.
  static StatusOr<Entry> ReadEntry(const std::string& bytes);
  void Restore(const fs::RecordStore::Record& saved);
  void OnSaved(const std::string& key, uint64_t version);
  void OnUnreadable(const std::string& key, bool newer, const std::string& error);
  void CountFileError(const char* operation);
  void OnWriteFailed(const std::string& key, const fs::RecordWriter::Failure& failure);
  void PutAdmission(const std::string& key, const Entry& entry);

  Deps deps_;
  const std::shared_ptr<const fs::RecordStore> store_;  // shared with the strands
  std::function<void(const std::string&)> saved_;
  std::function<void()> read_done_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, bool> unreadable_;  // -> whether a later version can read it
  uint64_t last_version_ = 0;
  bool read_ = false;
  exec::Backoff read_backoff_;
  std::string read_error_;  // of the last attempt
  fs::RecordWriter writer_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::sync_loop
