#pragma once

/// Something that must hold and did not. Made by Checker and Engine, shown in the report.
/// Threads: values.
/// Errors: none.
/// Units: durations from the start of the round.

#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::chaos {

struct Violation {
  std::string rule;     // "one-container"
  std::string subject;  // pod, process or host resource
  std::string text;
  Duration at{0};
  WallTime wall;
  std::vector<std::string> around;  // lines of timeline and bus
};

}  // namespace splitlet::chaos
