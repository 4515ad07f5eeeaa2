#pragma once

/// Violations found during a round, each announced once. Filled by the rules, read by Checker.
/// Owns:    the violations since the last Take, and which rule and subject were announced.
/// Threads: one.
/// Errors:  none.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chaos/rules/violation.h"

namespace splitlet::chaos {

class Findings {
 public:
  /// The first violation of each rule and subject counts, later ones are dropped.
  void Add(const std::string& rule, const std::string& subject, std::string text) {
    if (announced_.insert({rule, subject}).second)
      found_.push_back(MakeViolation(rule, subject, std::move(text)));
  }
  std::vector<Violation> Take() { return std::exchange(found_, {}); }

 private:
  std::set<std::pair<std::string, std::string>> announced_;
  std::vector<Violation> found_;
};

}  // namespace splitlet::chaos
