#pragma once

/// Programs under test: their output goes to a file, they are killed with the test, and a Keeper
/// restarts them.
/// Threads: Child is used by one; Keeper has a thread of its own and locks.
/// Errors: a program that cannot be started fails the test immediately.

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
  std::map<std::string, std::string> env;  // added to the test's own environment
  std::string output;                      // file to which stdout and stderr are appended
};

/// Runs the program to its end; returns its exit code, 128 + signal if killed; the output is in the
/// file.
int RunToEnd(const Command& command, Duration limit);

/// Starts a program in its own process group, which dies with the test. A missing program ends with
/// code 127 and a line in the output.
pid_t Spawn(const Command& command);

/// Current number of its threads; 0 after its end.
size_t ThreadsOf(pid_t pid);

/// Keeps programs alive: restarts a dead one within milliseconds, like a supervisor.
class Keeper {
 public:
  Keeper();
  ~Keeper();  // kills all programs
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void Start(const std::string& name, Command command);
  /// TERM, then KILL after `grace`; no restart.
  void Stop(const std::string& name, Duration grace = std::chrono::seconds{10});
  /// Sends a signal; after SIGKILL the program restarts unless it was stopped.
  void Signal(const std::string& name, int signal);
  /// 0 if the program does not run at the moment.
  pid_t PidOf(const std::string& name) const;
  /// Number of restarts.
  int RestartsOf(const std::string& name) const;
  /// Programs that ended by a signal of their own, such as an abort; empty: none.
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

/// Polls every 20 ms until `condition` holds; false after `limit`, or four times that with a
/// sanitizer.
bool WaitFor(Duration limit, const std::function<bool()>& condition);

/// Polls for `limit`; true if the condition held each time.
bool HoldsFor(Duration limit, const std::function<bool()>& condition);

/// A temporary directory with a short name, under $TMPDIR or /tmp, removed at the end unless
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

/// Writes a temporary file and renames it, as users should.
void WriteFile(const std::string& path, const std::string& content);
/// Empty if the file cannot be read.
std::string ReadFile(const std::string& path);

/// "pod_worker" for "pod-worker": a valid name of a test.
std::string Identifier(std::string name);

}  // namespace splitlet::harness
