#pragma once

/// The fail point terms that processes are to have while faults last, and those that they have. A
/// process that is paused, starts or does not answer gets them later; one that is new has none of
/// what was set in the one before. Called by LocalFaults.
/// Threads: one.
/// Errors: of the process that refuses a term; not to answer is none.

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

  /// For `fault`, until it is dropped. Of several faults at one point the last one counts. Wanted
  /// again it begins anew.
  Status Want(const std::string& process, const std::string& fault,
              const std::vector<Action::Point>& points);
  /// CANCELLED when nothing of it was ever set in the process.
  Status Drop(const std::string& process, const std::string& fault);
  /// What could not be set so far.
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
    std::map<std::string, std::string> has;  // name -> term, or that it is not known
  };
  Status Bring(const std::string& name, Process& process);
  static std::vector<Action::Point> Due(const Process& process);
  static void OnAnswer(Process& process, const Action::Point& point, bool same_process);

  const PointAccess access_;
  std::map<std::string, Process> processes_;
};

}  // namespace splitlet::chaos
