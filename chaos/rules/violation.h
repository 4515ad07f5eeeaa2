#pragma once

/// A breach of a rule. Made by the rules and by Engine, shown in the report.
/// Threads: values.
/// Errors: none.
/// Units: durations from the start of the round.

#include <string>
#include <utility>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::chaos {

struct Violation {
  std::string rule;     // "one-container"
  std::string subject;  // pod, process or host resource
  std::string text;
  Duration at{0};
  WallTime wall;
  std::vector<std::string> around;  // lines of timeline and bus around the violation
};

/// Without the time; Engine adds the time.
inline Violation MakeViolation(std::string rule, std::string subject, std::string text) {
  return {.rule = std::move(rule),
          .subject = std::move(subject),
          .text = std::move(text),
          .wall = {},
          .around = {}};
}

}  // namespace splitlet::chaos
