#pragma once

/// Keeps the events of this boot on disk, so that a restart of status shows them again.
/// In:      OnRecorded after the store has changed; Start; BeginStop.
/// Owns:    "<run>/status/events/all" with the newest 1 MiB of events, replaced at most every two
///          seconds.
/// Out:     on_read, once: the events of the file; empty without a file.
/// Killed:  events of the last two seconds are lost. A single event after a quiet time is on disk
///          when its write ends.
/// Threads: the loop's; the file is read and written on a strand.
/// Errors:  logged. A failed save is repeated; a file that cannot be read counts as no file.
///          fs::RecordWriter does not fit: the events of a save are listed when it begins, and also
///          a save that works is followed by a pause.
/// Source:  docs/behaviour/status.md, "Events"; docs/safety.md, rule 3.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class EventFile {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    std::string directory;
    /// The events to save, in the order of their last occurrence.
    std::function<std::vector<v1::EventRecord>()> list;
    std::function<void(std::vector<v1::EventRecord> events)> on_read;
  };
  explicit EventFile(Deps deps)
      : deps_(std::move(deps)),
        store_(std::make_shared<const fs::RecordStore>(
            deps_.files, deps_.env.clock,
            fs::RecordStore::Options{.directory = deps_.directory, .this_boot_only = true})),
        asker_(deps_.env.loop, deps_.env.strands) {}

  void Start();
  /// Saves soon, but not before the file was read.
  void OnRecorded();
  /// Saves unsaved events immediately.
  void BeginStop();

 private:
  void OnRead(const StatusOr<std::vector<v1::EventRecord>>& events);
  void Save();
  void OnSaved(const Status& status);

  const Deps deps_;
  const std::shared_ptr<const fs::RecordStore> store_;  // shared with the strand
  bool read_ = false, changed_ = false, saving_ = false;
  std::optional<Clock::Time> saved_at_;  // begin of the last save
  exec::TimerId timer_ = 0;
  std::string save_error_;   // of the last save
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
