#pragma once

/// Events of a time span and their picture: bars and marks in rows, and lines of text. For the
/// report of a chaos run.
/// Threads: values and pure functions, any.
/// Errors: none.
/// Units: durations from the start of the timeline.

#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::operate {

struct Bar {
  std::string row;
  Duration from{0}, to{0};
  std::string style;  // style of a bar: wanted, running, fault
  std::string text;
};

struct Mark {
  std::string row;
  Duration at{0};
  std::string style;  // style of a mark: fault, load, start, violation
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
  std::vector<std::string> processes, pods;  // names of the rows, in this order
  std::vector<Bar> bars;
  std::vector<Mark> marks;
  std::vector<Entry> entries;
};

/// Rows of processes and pods over time, as SVG.
std::string TimelineSvg(const Timeline& timeline);

/// Escapes the five special characters of HTML.
std::string HtmlText(const std::string& text);

}  // namespace splitlet::operate
