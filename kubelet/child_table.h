#pragma once

/// Which programs of the stack run, and when an ended program is started again: after 100 ms, and
/// up to 5 s if it keeps ending. A program that is silent for the watchdog's limit must be killed.
/// Threads: one.
/// Errors:  none.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/exec/work_queue.h"

namespace splitlet::kubelet {

class ChildTable {
 public:
  struct Child {
    std::string name;
    bool notifies = true;  // sends READY=1 and then feeds its watchdog; else ready once started
  };
  ChildTable(const Clock& clock, std::vector<Child> children, Duration watchdog);

  /// Names of programs to start now, in the order of the children.
  std::vector<std::string> Due() const;
  void OnStarted(const std::string& name, pid_t pid);
  /// A notification of a program; those of unknown processes are ignored.
  void OnMessage(pid_t pid, std::string_view message);
  /// Returns the name of the ended program; "": not a program of this table. `again`: time until
  /// the program is started again.
  std::string OnEnded(pid_t pid, Duration* again);
  void OnCannotStart(const std::string& name);

  bool AllReady() const;
  std::vector<pid_t> Silent() const;
  pid_t PidOf(const std::string& name) const;
  std::vector<pid_t> Running() const;
  /// The next time at which Due or Silent may change; no time: never.
  Clock::Time NextDue() const;

 private:
  struct State {
    Child child;
    pid_t pid = 0;
    bool ready = false;
    Clock::Time due, last_message;
  };
  State* Find(const std::string& name);
  State* FindPid(pid_t pid);

  const Clock& clock_;
  const Duration watchdog_;
  exec::Backoff backoff_;
  std::vector<State> children_;
};

}  // namespace splitlet::kubelet
