#pragma once

/// The timeline of one pod: messages of each process on the bus, states of the runtime, and events.
/// Threads: any.
/// Errors: documented at each function.
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
  std::string trace_id;  // trace id of the message; empty: none
  bool exact = true;     // false: `at` is the start of the second of the event
};

/// Lines from the current tables: source, admission, start time, containers, conditions.
std::vector<TraceLine> LinesOf(const operate::PodView& view);
std::vector<TraceLine> LinesOf(const std::vector<std::shared_ptr<v1::EventRecord>>& events);
TraceLine LineOf(const operate::BusEvent& event);

/// INVALID_ARGUMENT when the name matches several pods ("default/web"): a trace shows one pod.
Status CheckOneName(const std::string& name, const std::set<std::string>& full_names);

/// Sorts by time and shows milliseconds since the first exact line. A line with whole seconds
/// stands at the end of its second, without milliseconds. A trace is marked by the first eight
/// digits of its id; full ids are listed below.
std::string TraceText(std::vector<TraceLine> lines);

}  // namespace splitlet::ctl
