#include "ctl/commands/bus.h"

#include <fmt/format.h>

#include <iterator>
#include <ostream>
#include <set>

#include "ctl/bus/bus_source.h"
#include "ctl/show/trace.h"
#include "libs/base/one_line.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/client.h"
#include "libs/operate/flight_recorder.h"
#include "libs/operate/layout.h"
#include "libs/operate/pod_view.h"
#include "libs/operate/text.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

constexpr const char* kEventsSince = "10m";

/// Recorded messages about pods of this name.
struct Recorded {
  std::vector<operate::BusEvent> events;
  std::map<std::string, std::string> pods;  // uid -> "default/web"
};

StatusOr<Recorded> ReadAbout(const operate::Context& context, const std::string& name,
                             Duration since) {
  operate::BusReader reader;
  std::vector<operate::BusEvent> all;
  const WallTime from = context.client.clock().WallNow() - since;
  const Status read = operate::ReadRecorderFiles(context.client.layout().recorder, from,
                                                 [&](const operate::BusMessage& message) {
                                                   operate::BusEvent event = reader.Read(message);
                                                   if (!event.heartbeat)
                                                     all.push_back(std::move(event));
                                                   return !context.stopped();
                                                 });
  if (!read.ok()) return read;
  Recorded recorded{.events = {}, .pods = reader.PodsNamed(name)};
  for (operate::BusEvent& event : all)
    if (recorded.pods.contains(event.key)) recorded.events.push_back(std::move(event));
  return recorded;
}

/// Lines for a pod that is still in the tables.
void AddPresent(const operate::Context& context, const operate::PodView& view,
                std::vector<TraceLine>& lines) {
  auto more = LinesOf(view);
  lines.insert(lines.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  const auto events = context.client.ListEvents(view.uid);
  if (!events.ok()) {
    context.err << "warning: no events: " << OneLine(Message(events.status())) << "\n";
    return;
  }
  more = LinesOf(*events);
  lines.insert(lines.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

}  // namespace

Status Events(const operate::Context& context, const EventOptions& options) {
  const operate::BusAccess& bus = context.client.layout().bus;
  operate::BusReader reader;
  const auto print = [&](const operate::BusMessage& message) {
    const operate::BusEvent event = reader.Read(message);
    if (!event.heartbeat || options.heartbeats) context.out << operate::EventLine(event);
    if (options.follow) context.out.flush();
    return !context.stopped();
  };
  if (!options.since.empty() || !options.follow) {
    const auto since = operate::ParseSince(options.since.empty() ? kEventsSince : options.since);
    if (!since.ok()) return Annotate(since.status(), "--since");
    if (Status read = operate::ReadRecorderFiles(context.client.layout().recorder,
                                                 context.client.clock().WallNow() - *since, print);
        !read.ok())
      return read;
  }
  if (!options.follow) return OkStatus();
  if (!options.heartbeats)
    context.err << "following; a quiet node sends only heartbeats (--heartbeats shows them)"
                << std::endl;
  return FollowBus(bus, context.stopped, print);
}

Status RunRecorder(const operate::Context& context) {
  const operate::Layout& layout = context.client.layout();
  operate::BusAccess access = layout.bus;
  access.creds = layout.recorder_creds;
  operate::RecorderFiles files(layout.recorder);
  RecordBus(access, files, context.stopped, context.out);
  return OkStatus();
}

Status TracePod(const operate::Context& context, const std::string& name,
                const std::string& since_text) {
  const auto since = operate::ParseSince(since_text);
  if (!since.ok()) return Annotate(since.status(), "--since");
  const auto recorded = ReadAbout(context, name, *since);
  const operate::NodePods node = context.client.ListPods(operate::Client::Detail::kAll);
  if (node.refused) return PermissionDenied("{}", node.problems.front());
  std::set<std::string> full_names;
  if (recorded.ok())
    for (const auto& pod : recorded->pods) full_names.insert(pod.second);
  for (const operate::PodView& view : node.pods)
    if (IsNamed(view, name)) full_names.insert(view.name_space + "/" + view.name);
  if (Status one = CheckOneName(name, full_names); !one.ok()) return one;
  std::vector<TraceLine> lines;
  if (!recorded.ok())
    context.err << "warning: no flight recorder: " << OneLine(Message(recorded.status())) << "\n";
  else
    for (const operate::BusEvent& event : recorded->events) lines.push_back(LineOf(event));
  for (const auto& problem : node.problems) context.err << "warning: " << OneLine(problem) << "\n";
  for (const operate::PodView& view : node.pods) {
    const bool same = recorded.ok() && recorded->pods.contains(view.uid);
    if (same || IsNamed(view, name)) AddPresent(context, view, lines);
  }
  if (lines.empty())
    return NotFound("no pod \"{}\" in the processes' tables or in the recorded last {}", since_text,
                    name);
  context.out << TraceText(std::move(lines));
  return OkStatus();
}

}  // namespace splitlet::ctl
