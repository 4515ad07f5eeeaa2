#pragma once

/// What happened in a round, for the report: bars and marks in rows, and lines of text.
/// Threads: values. Errors: none. Units: durations from the start of the round.

#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::chaos {

struct Bar {
  std::string row;
  Duration from{0}, to{0};
  std::string style;  // wanted, running, ready, fault
  std::string text;
};

struct Mark {
  std::string row;
  Duration at{0};
  std::string style;  // fault, load, exit, violation
  std::string text;
};

struct Entry {
  Duration at{0};
  WallTime wall;
  std::string who, text;
};

struct Timeline {
  WallTime began;
  Duration length{0};
  std::vector<std::string> processes, pods;  // rows, in this order
  std::vector<Bar> bars;
  std::vector<Mark> marks;
  std::vector<Entry> entries;
};

/// Something that must hold did not.
struct Violation {
  std::string rule;     // "one-container"
  std::string subject;  // pod, process or thing
  std::string text;
  Duration at{0};
  WallTime wall;
  std::vector<std::string> around;  // lines of timeline and bus
};

}  // namespace splitlet::chaos
