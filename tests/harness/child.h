#pragma once

/// Programs under test: output in a file, killed with the test, restarted when asked to be kept.
/// Threads: Child is used by one; Keeper has a thread of its own and locks.
/// Errors: a program that cannot be started fails the test at once.

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::harness {

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // added to the test's own
  std::string output;                      // file that stdout and stderr are appended to
};

/// Runs to its end; its exit code, 128 + signal when killed, and output in the file.
int RunToEnd(const Command& command, Duration limit);

/// Starts in a process group of its own that dies with the test. A program that is not found is
/// an end with code 127 and a line in the output.
pid_t Spawn(const Command& command);

/// How many threads it has now; 0 when it is gone.
size_t ThreadsOf(pid_t pid);

/// Keeps programs alive: a dead one is started again within milliseconds, as a supervisor does.
class Keeper {
 public:
  Keeper();
  ~Keeper();  // kills all that is left
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void Start(const std::string& name, Command command);
  /// TERM, then KILL after `grace`; it is not started again.
  void Stop(const std::string& name, Duration grace = std::chrono::seconds{10});
  /// Signals it; with SIGKILL it comes back unless stopped.
  void Signal(const std::string& name, int signal);
  /// 0 when it does not run at the moment.
  pid_t PidOf(const std::string& name) const;
  /// How often it was started again.
  int RestartsOf(const std::string& name) const;
  /// Which programs ended by a signal of their own making, such as an abort; empty: none.
  std::string Crashes() const;

 private:
  struct Kept {
    Command command;
    pid_t pid = 0;
    int restarts = 0;
    bool wanted = true;
  };
  void Watch(const std::stop_token& stop);
  void Reap();
  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;
  std::string crashes_;
  std::jthread watcher_;
};

/// Looks every 20 ms until `condition` holds; false after `limit`, or four times that with a
/// sanitizer.
bool WaitFor(Duration limit, const std::function<bool()>& condition);

/// The same for `limit` long: true when the condition held each time that it was looked at.
bool HoldsFor(Duration limit, const std::function<bool()>& condition);

/// A directory of its own under $TMPDIR, or /tmp, with a short name, removed at the end unless
/// SPLITLET_KEEP_TEST_DIRS is set.
class TempDir {
 public:
  explicit TempDir(const std::string& prefix = "splitlet");
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Writes beside and renames into place, as people should.
void WriteFile(const std::string& path, const std::string& content);
/// Empty when it cannot be read.
std::string ReadFile(const std::string& path);

/// "pod_worker" for "pod-worker": what may stand in the name of a test.
std::string Identifier(std::string name);

}  // namespace splitlet::harness
