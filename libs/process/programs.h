#pragma once

/// Programs that run while nobody waits: whoever needs one asks for it, goes on, and asks again
/// when its owner is told that it has ended. A process that is killed leaves its programs behind;
/// the next one finds those that still run, and goes on with them as if it had begun them.
/// Owns:    the programs under way, by key, and what each has given until somebody takes it.
/// Threads: any; no call blocks. One thread watches all of them, and is there while there is one.
/// Errors:  those of RunProgram; ABORTED: one that an earlier process has begun has ended, nobody
///          knows how.
/// Source:  docs/design.md, "Threads and time".

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/fs/fd.h"
#include "libs/fs/file_system.h"
#include "libs/process/proc_files.h"
#include "libs/process/run_program.h"
#include "libs/process/running.h"

namespace splitlet::process {

struct ProgramKey {
  std::string owner;  // who is told
  std::string what;   // one at a time of an owner
  auto operator<=>(const ProgramKey&) const = default;
};

class Programs {
 public:
  virtual ~Programs() = default;
  /// Begins the program, unless one of this key is known. Empty: it runs. Else what it gave, once.
  /// One that does not end in time is killed, and its error given; while it hangs in the kernel
  /// nevertheless, that is given again and no other is begun.
  virtual std::optional<StatusOr<std::string>> Run(const ProgramKey& key,
                                                   const Program& program) = 0;
  /// One of this key runs, or has given what nobody took.
  virtual bool Knows(const ProgramKey& key) const = 0;
  /// Killed if it runs, and what it gives is dropped. False: it hangs in the kernel.
  virtual bool Forget(const ProgramKey& key) = 0;
};

struct ProgramMark {
  std::string text;
  Status kept;  // not OK: it is of this start alone
};
/// A folder of state and a random id, which is kept in the folder where only its user may read it.
ProgramMark MakeProgramMark(fs::FileSystem& files, const std::string& folder);

class RealPrograms final : public Programs {
 public:
  struct Options {
    /// Of this process, over its starts, and of no other of the machine: what its programs are
    /// found by. A text without line breaks that nobody else knows, see MakeProgramMark.
    std::string mark;
    /// One of them has ended, or was given up. On the watching thread.
    std::function<void(const std::string& owner)> on_ended;
    /// Processes of an earlier start that are gone on with: each holds a descriptor. Those above it
    /// count as unknown.
    size_t most_left = 256;
    std::string proc = kProc;  // or a test's
  };
  explicit RealPrograms(Options options);
  /// What it began is killed.
  ~RealPrograms() override;

  std::optional<StatusOr<std::string>> Run(const ProgramKey& key, const Program& program) override;
  bool Knows(const ProgramKey& key) const override;
  bool Forget(const ProgramKey& key) override;

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Entry {
    Program program;
    std::unique_ptr<Running> running;         // null: begun by an earlier process, or ended
    std::vector<fs::Fd> left = {};            // of an earlier process: its processes
    std::optional<SteadyTime> deadline = {};  // not yet known of what was left
    std::optional<StatusOr<std::string>> given = {};
    bool dropped = false;  // nobody wants what it gives

    bool runs() const { return running != nullptr || !left.empty(); }
  };
  using Entries = std::map<ProgramKey, Entry>;
  void FindLeft();
  void Watch();
  void WatchOnce(std::unique_lock<std::mutex>& lock);
  bool OnPolled(Entry& entry, const struct pollfd* polled);
  bool GiveUpLate(Entry& entry) const;
  static void Kill(const Entry& entry);
  static void OnEnded(Entry& entry, StatusOr<std::string> given);
  void EnsureWatched();
  void Wake() const;

  const Options options_;
  fs::Fd wake_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::thread watcher_;
  bool watching_ = false;
  bool stopping_ = false;
};

}  // namespace splitlet::process
