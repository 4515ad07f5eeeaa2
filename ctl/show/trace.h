#pragma once

/// The timeline of one pod: messages of each process on the bus, the runtime's times, and events.
/// Threads: any.
/// Errors: as said at each.
/// Units: milliseconds since the first line.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ctl/show/pods.h"
#include "libs/base/status.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/pod_view.h"

namespace splitlet::v1 {
class EventRecord;
}

namespace splitlet::ctl {

struct TraceLine {
  WallTime at;
  std::string who;  // process, "runtime" or "event"
  std::string text;
  std::string trace_id;  // of the change on the bus; empty: none
  bool exact = true;     // false: `at` is the beginning of the second in which it was
};

/// From the tables as they are now: source, admission, start time, containers, conditions.
std::vector<TraceLine> LinesOf(const operate::PodView& view);
std::vector<TraceLine> LinesOf(const std::vector<std::shared_ptr<v1::EventRecord>>& events);
TraceLine LineOf(const operate::BusEvent& event);

/// INVALID_ARGUMENT when the name stands for several pods ("default/web"): a trace is of one pod.
Status CheckOneName(const std::string& name, const std::set<std::string>& full_names);

/// Sorted by time, each with the milliseconds since the first exact line. A line known only to the
/// second stands at the end of its second, without milliseconds. The mark of a trace is the first
/// eight digits of its id; the whole ids stand below.
std::string TraceText(std::vector<TraceLine> lines);

}  // namespace splitlet::ctl
