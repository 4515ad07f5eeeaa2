#pragma once

/// Which programs of the stack run, and when what died is started again: 100 ms after, and more
/// slowly, up to 5 s, when it keeps dying. One that says nothing for its watchdog's limit is to be
/// killed.
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
    bool notifies = true;  // says READY=1 and then feeds its watchdog; else ready once started
  };
  ChildTable(const Clock& clock, std::vector<Child> children, Duration watchdog);

  /// Names that are to be started now, in the order of the children.
  std::vector<std::string> Due() const;
  void OnStarted(const std::string& name, pid_t pid);
  /// What a program of the table said to its supervisor; of others: nothing.
  void OnMessage(pid_t pid, std::string_view message);
  /// Its name; "" : none of ours. `again`: how long until it is started again.
  std::string OnEnded(pid_t pid, Duration* again);
  void OnCannotStart(const std::string& name);

  bool AllReady() const;
  std::vector<pid_t> Silent() const;
  pid_t PidOf(const std::string& name) const;
  std::vector<pid_t> Running() const;
  /// When to look again; no time: only when something happens.
  Clock::Time NextLook() const;

 private:
  struct State {
    Child child;
    pid_t pid = 0;
    bool ready = false;
    Clock::Time due, heard;
  };
  State* Find(const std::string& name);
  State* FindPid(pid_t pid);

  const Clock& clock_;
  const Duration watchdog_;
  exec::Backoff backoff_;
  std::vector<State> children_;
};

}  // namespace splitlet::kubelet
