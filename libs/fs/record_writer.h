#pragma once

/// Saves records, repeating a failed write until it succeeds. Writes of a key run one at a time; a
/// newer value replaces a waiting one, and a repeated write uses the newest value.
/// In:      Save and Forget.
/// Owns:    the values that are not on disk yet.
/// Out:     the files of a RecordStore; `on_saved` of each Save, once its value or a newer one is
///          on disk.
/// Killed:  values that were not reported as saved may be lost.
/// Threads: the loop thread; files on the strand of their key.
/// Errors:  `on_failed` for each failed write; the next attempt follows after a backoff.
/// Source:  docs/safety.md, rule 3.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/work_queue.h"
#include "libs/fs/record_store.h"

namespace splitlet::fs {

class RecordWriter {
 public:
  struct Failure {
    Status status;
    Duration retry_in{0};
    bool repeated = false;  // true: the previous attempt failed with the same error
  };
  /// Both block and run on the strand of the key. `forget` succeeds if the file does not exist.
  struct Files {
    std::function<Status(const std::string& key, const std::string& bytes)> save;
    std::function<Status(const std::string& key)> forget;
  };
  /// Save without fsync, or with it.
  static Files FilesOf(const RecordStore& store, bool fsync);

  struct Options {
    std::string strand;  // prefix of the strand of each key: "admission/"
    exec::Backoff::Options backoff = {.initial = std::chrono::seconds{1},
                                      .max = std::chrono::seconds{10}};
  };
  using OnSaved = std::function<void()>;
  using OnFailed = std::function<void(const std::string& key, const Failure& failure)>;

  /// Objects that `files` uses must outlive the strands.
  RecordWriter(const exec::Env& env, Files files, Options options, OnFailed on_failed);

  /// `on_saved` may be empty. Callbacks of a key run in the order of the calls. A callback may call
  /// this object, or destroy it.
  void Save(const std::string& key, std::string bytes, OnSaved on_saved = nullptr);
  /// Removes the file after the running write, if any. Waiting callbacks of the key are dropped. If
  /// the file cannot be removed, it stays and `on_failed` is called, without another attempt.
  void Forget(const std::string& key);
  /// True if the newest value of the key is not on disk yet.
  bool IsSaving(const std::string& key) const { return entries_.contains(key); }

 private:
  struct Waiting {
    uint64_t version = 0;
    exec::Task on_saved;
  };
  struct Entry {
    uint64_t version = 0;  // version of `bytes`; each Save gets a new one
    std::shared_ptr<const std::string> bytes;
    uint64_t writing = 0;  // version that is being written; 0: none
    std::vector<Waiting> waiting = {};
    std::string error = {};  // error of the last attempt
  };
  void Write(const std::string& key);
  void OnWritten(const std::string& key, uint64_t version, const Status& status);
  void OnFailure(const std::string& key, const Status& status);
  std::string StrandOf(const std::string& key) const { return options_.strand + key; }

  const Files files_;
  const Options options_;
  const OnFailed on_failed_;
  exec::Backoff backoff_;
  std::map<std::string, Entry> entries_;
  uint64_t last_version_ = 0;
  exec::WorkQueue retries_;
  exec::Asker asker_;  // the last member, because its destructor stops all callbacks
};

}  // namespace splitlet::fs
