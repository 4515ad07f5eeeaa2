#pragma once

/// The terms of fail points that processes should have while faults last, and those that they have.
/// A process that is paused, starting or silent gets them later; a restarted process has lost them.
/// Called by LocalFaults.
/// Threads: one.
/// Errors: of a process that refuses a term; a silent process is no error.

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chaos/scenario/plan.h"

namespace splitlet::chaos {

struct PointAccess {
  std::function<pid_t(const std::string& process)> pid_of;  // 0: it does not run
  std::function<bool(pid_t)> is_stopped;                    // and would not answer
  std::function<Status(const std::string& process, const Action::Point&)> set;
};

class FailPoints {
 public:
  explicit FailPoints(PointAccess access) : access_(std::move(access)) {}

  /// Sets the terms of `fault` until Drop. At one point the last of several faults counts. A term
  /// that is wanted again counts from its beginning.
  Status Want(const std::string& process, const std::string& fault,
              const std::vector<Action::Point>& points);
  /// CANCELLED if no term of the fault was ever set in the process.
  Status Drop(const std::string& process, const std::string& fault);
  /// Sets the terms that could not be set so far.
  void Retry();

 private:
  struct Wish {
    std::string fault;
    Action::Point point;
    bool was_set = false;
  };
  struct Process {
    pid_t pid = 0;
    std::vector<Wish> wishes;
    std::map<std::string, std::string> has;  // name -> term, or kUnknown
  };
  Status Bring(const std::string& name, Process& process);
  static std::vector<Action::Point> Due(const Process& process);
  static void OnAnswer(Process& process, const Action::Point& point, bool same_process);

  const PointAccess access_;
  std::map<std::string, Process> processes_;
};

}  // namespace splitlet::chaos
