#pragma once

/// The faults of a round, and what they excuse. Filled by Checker, read by the rules.
/// Threads: one.
/// Errors:  none.

#include <string>
#include <vector>

#include "chaos/scenario/plan.h"
#include "libs/base/clock.h"

namespace splitlet::chaos {

class Disturbances {
 public:
  void Begin(const Action& action, WallTime at);
  void End(const Action& action, WallTime at);

  /// How much later a container may stop because of faults between `from` and `to`.
  Duration ExcuseOfStop(WallTime from, WallTime to) const;
  /// A fault killed or removed a container of this pod, or the machine rebooted, between `from` and
  /// `to`.
  bool EndedContainers(const std::string& pod, WallTime from, WallTime to) const;
  /// A fault killed or removed a container of this pod at any time. Reboots do not count.
  bool HitContainers(const std::string& pod) const;
  /// An open fault keeps this process from running.
  bool KeepsDown(const std::string& process) const;

 private:
  struct Disturbance {
    FaultKind kind;
    std::string target, key;
    WallTime from, to;
    bool open = false;
  };
  std::vector<Disturbance> all_;
};

}  // namespace splitlet::chaos
