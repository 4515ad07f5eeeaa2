#include "ctl/show/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"
#include "libs/operate/pod_view.h"
#include "libs/operate/text.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

constexpr size_t kMarkSize = 8;

WallTime SortedAt(const TraceLine& line) {
  return line.exact ? line.at : line.at + std::chrono::seconds{1};
}

void Add(std::vector<TraceLine>& lines, int64_t ns, const char* who, std::string text) {
  if (ns > 0) lines.push_back({WallFromNanos(ns), who, std::move(text), ""});
}

void AddRuntime(std::vector<TraceLine>& lines, const v1::ObservedPod& pod) {
  for (const v1::SandboxRecord& sandbox : pod.sandboxes())
    Add(lines, sandbox.created_at_ns(), "runtime",
        fmt::format("sandbox {} created (attempt {})", sandbox.id().substr(0, 12),
                    sandbox.attempt()));
  for (const v1::ContainerRecord& c : pod.containers()) {
    const std::string name = fmt::format("{} (attempt {})", c.name(), c.attempt());
    Add(lines, c.created_at_ns(), "runtime", name + " created");
    Add(lines, c.started_at_ns(), "runtime", name + " started");
    if (c.state() == v1::ContainerRecord::EXITED)
      Add(lines, c.finished_at_ns(), "runtime",
          fmt::format("{} exited {}{}", name, c.exit_code(),
                      c.reason().empty() ? "" : " (" + c.reason() + ")"));
  }
}

/// The trace ids without duplicates, in the order of the lines.
std::vector<std::string> TracesOf(const std::vector<TraceLine>& lines) {
  std::vector<std::string> traces;
  for (const TraceLine& line : lines)
    if (!line.trace_id.empty() && std::ranges::find(traces, line.trace_id) == traces.end())
      traces.push_back(line.trace_id);
  return traces;
}

}  // namespace

std::vector<TraceLine> LinesOf(const operate::PodView& view) {
  std::vector<TraceLine> lines;
  if (view.desired != nullptr)
    Add(lines, view.desired->seen_at_wall_ns(), "config-source",
        "first seen by source " + view.desired->source());
  if (view.admission != nullptr)
    Add(lines, view.admission->decided_at_wall_ns(), "sync-loop",
        view.admission->decision() == v1::AdmissionRecord::ADMITTED
            ? "admission decided: admitted"
            : "admission decided: " + view.admission->reason());
  if (view.worker != nullptr)
    Add(lines, view.worker->start_time_wall_ns(), "pod-worker", "start time of the pod");
  if (view.runtime != nullptr) AddRuntime(lines, view.runtime->pod());
  if (!view.has_status) return lines;
  for (const auto& condition : view.pod->status().conditions()) {
    const auto& at = condition.last_transition_time();
    Add(lines, at.seconds() * 1'000'000'000 + at.nanos(), "status",
        fmt::format("condition {}={} since then", condition.type(), condition.status()));
    if (at.seconds() > 0) lines.back().exact = at.nanos() != 0;
  }
  return lines;
}

std::vector<TraceLine> LinesOf(const std::vector<std::shared_ptr<v1::EventRecord>>& events) {
  std::vector<TraceLine> lines;
  for (const auto& event : events) {
    const std::string times =
        event->count() > 1 ? fmt::format(" (first of {})", event->count()) : "";
    Add(lines, event->first_wall_ns(), "event",
        fmt::format("{} {}: {}{}", event->type(), event->reason(), event->message(), times));
    if (event->count() > 1 && event->last_wall_ns() != event->first_wall_ns())
      Add(lines, event->last_wall_ns(), "event",
          fmt::format("{} {}: {} (last of {})", event->type(), event->reason(), event->message(),
                      event->count()));
  }
  return lines;
}

TraceLine LineOf(const operate::BusEvent& event) {
  return {event.at, event.process, event.topic + ": " + event.text, event.trace_id};
}

Status CheckOneName(const std::string& name, const std::set<std::string>& full_names) {
  if (full_names.size() <= 1) return OkStatus();
  std::string list;
  for (const std::string& full : full_names) list += " " + full;
  return InvalidArgument("\"{}\" matches several pods, name one with its namespace:{}", name, list);
}

std::string TraceText(std::vector<TraceLine> lines) {
  if (lines.empty()) return "";
  std::ranges::stable_sort(lines, {}, SortedAt);
  const auto first = std::ranges::find_if(lines, &TraceLine::exact);
  const std::vector<std::string> traces = TracesOf(lines);
  operate::Table table(traces.empty()
                           ? std::vector<std::string>{"TIME (UTC)", "+MS", "WHO", "WHAT"}
                           : std::vector<std::string>{"TIME (UTC)", "+MS", "WHO", "TRACE", "WHAT"});
  for (const TraceLine& line : lines) {
    const std::string ms =
        line.exact ? fmt::format("{:.1f}", static_cast<double>((line.at - first->at).count()) / 1e6)
                   : "-";
    std::vector<std::string> row = {operate::ClockTime(line.at), ms, line.who};
    if (!traces.empty())
      row.push_back(line.trace_id.empty() ? "-" : line.trace_id.substr(0, kMarkSize));
    row.push_back(line.text);
    table.Add(std::move(row));
  }
  std::string text = table.Text();
  for (const auto& trace : traces) text += "trace " + OneLine(trace) + "\n";
  return text;
}

}  // namespace splitlet::ctl
