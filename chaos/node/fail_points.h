#pragma once

/// The terms of fail points that each process should have during a fault, and those it has. A
/// paused, starting or silent process gets its terms later; a restarted process has lost them.
/// Called by LocalFaults.
/// Threads: one.
/// Errors: a process refuses a term. A silent process is no error.

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chaos/scenario/plan.h"

namespace splitlet::chaos {

struct PointAccess {
  std::function<pid_t(const std::string& process)> pid_of;  // pid of the process; 0: it does not
                                                            // run
  std::function<bool(pid_t)> is_stopped;                    // the process is stopped and would not
                                                            // answer
  std::function<Status(const std::string& process, const Action::Point&)> set;
};

class FailPoints {
 public:
  explicit FailPoints(PointAccess access) : access_(std::move(access)) {}

  /// Sets the terms of `fault` until Drop. At one point the last of several faults counts. Setting
  /// a term again restarts its count.
  Status Want(const std::string& process, const std::string& fault,
              const std::vector<Action::Point>& points);
  /// CANCELLED if no term of the fault was ever set in the process.
  Status Drop(const std::string& process, const std::string& fault);
  /// Tries again to set terms that failed before.
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
