#pragma once

/// The events of this boot on disk, so that a start of status shows those from before it.
/// In:      OnRecorded after the store has changed; Start; BeginStop.
/// Owns:    "<run>/status/events/all", replaced every two seconds at most; 1 MiB of the newest.
/// Out:     on_read, once: the events that the file had; empty where there is none.
/// Killed:  events of the last two seconds are lost; a single one after a quiet time is on disk
///          when the write ends.
/// Threads: the loop's; the file is read and written on a strand.
/// Errors:  a Warn line; a save is tried again, a file that cannot be read is as good as none.
/// Source:  docs/behaviour/status.md, "Events"; docs/safety.md, rule 3.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class EventFile {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    const Log& log;
    std::string directory;
    /// Those to keep, in the order of their last occurrence.
    std::function<std::vector<v1::EventRecord>()> list;
    std::function<void(std::vector<v1::EventRecord> events)> on_read;
  };
  explicit EventFile(Deps deps)
      : deps_(std::move(deps)),
        store_(deps_.files, deps_.clock, {.directory = deps_.directory, .this_boot_only = true}) {}

  void Start();
  /// Nothing is written before the file was read.
  void OnRecorded();
  /// Writes what is not on disk yet, without a wait.
  void BeginStop();

 private:
  void OnRead(const StatusOr<std::vector<v1::EventRecord>>& events);
  void Save();
  void OnSaved(const Status& status);

  const Deps deps_;
  const fs::RecordStore store_;
  bool read_ = false, changed_ = false, saving_ = false;
  std::optional<Clock::Time> saved_at_;  // the begin of the last save
  exec::TimerId timer_ = 0;
  std::string trouble_;  // of the last save
};

}  // namespace splitlet::status
