#pragma once

/// Rules of the processes: they come back, and stay within their limits. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <string>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// `process-back`: a process that died runs again in time, unless a fault keeps it down.
/// Owns: since when each process is absent.
class ProcessBackRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  std::map<std::string, Clock::Time> absent_;
};

/// `memory`: resident memory of each process stays below the limit.
class MemoryRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

/// `descriptors`: open file descriptors of each process stay below the limit.
class DescriptorsRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

}  // namespace splitlet::chaos
