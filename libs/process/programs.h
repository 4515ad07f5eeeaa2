#pragma once

/// Runs programs in the background: the caller starts one, continues, and asks again when on_ended
/// has named its owner. Programs of a killed process keep running; the next start finds and adopts
/// them.
/// Owns:    the programs under way, by key, and the result of each until a caller takes it.
/// Threads: any; no call blocks. A single thread watches all programs, while any runs.
/// Errors:  those of RunProgram; ABORTED: a program of an earlier start has ended, with unknown
///          result.
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
  std::string owner;  // on_ended gets this name
  std::string what;   // distinguishes the programs of an owner
  auto operator<=>(const ProgramKey&) const = default;
};

class Programs {
 public:
  virtual ~Programs() = default;
  /// Starts the program, unless one of this key is known. Empty: the program runs. Otherwise
  /// returns its result, once. A program that exceeds its limit is killed and results in an error.
  /// While it still hangs in the kernel, each call returns that error and starts no other program.
  virtual std::optional<StatusOr<std::string>> Run(const ProgramKey& key,
                                                   const Program& program) = 0;
  /// True if a program of this key runs, or has a result that no caller has taken.
  virtual bool Knows(const ProgramKey& key) const = 0;
  /// Kills the program if it runs, and drops its result. False: the program still hangs in the
  /// kernel.
  virtual bool Forget(const ProgramKey& key) = 0;
};

struct ProgramMark {
  std::string text;
  Status kept;  // not OK: the mark is not on disk, and is valid only until this process ends
};
/// The folder's path and a random id, which the folder keeps, readable by its user alone.
ProgramMark MakeProgramMark(fs::FileSystem& files, const std::string& folder);

class RealPrograms final : public Programs {
 public:
  struct Options {
    const Clock& clock;  // the machine's clock, because the watching thread waits in poll(2)
    /// Identifies programs of this process over its restarts: a text without line breaks that no
    /// other program knows, see MakeProgramMark.
    std::string mark;
    /// Called when a program has ended or exceeded its limit, on the watching thread.
    std::function<void(const std::string& owner)> on_ended;
    /// Limit of adopted processes of an earlier start, because each holds a descriptor.
    size_t most_left = 256;
    std::string proc = kProc;  // kProc, or a test's folder
  };
  explicit RealPrograms(Options options);
  /// Kills the programs that this object started.
  ~RealPrograms() override;

  std::optional<StatusOr<std::string>> Run(const ProgramKey& key, const Program& program) override;
  bool Knows(const ProgramKey& key) const override;
  bool Forget(const ProgramKey& key) override;

 private:
  struct Entry {
    Program program;
    std::unique_ptr<Running> running;          // null: started by an earlier process, or ended
    std::vector<fs::Fd> left = {};             // processes of an earlier start
    std::optional<Clock::Time> deadline = {};  // of a program of an earlier start: set by the next
                                               // Run
    std::optional<StatusOr<std::string>> given = {};
    bool dropped = false;  // no caller wants the result

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
