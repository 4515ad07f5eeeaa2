#include "ctl/show/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "libs/base/one_line.h"
#include "libs/base/processes.h"
#include "libs/operate/text.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

std::string PidText(int32_t pid, const char* none) {
  return pid == 0 ? none : fmt::format("{}", pid);
}

std::string HealthText(const operate::ProcessView& view) {
  if (view.info == nullptr) return view.refused ? "refused" : "down";
  if (view.info->live() && view.info->ready()) return "ok";
  return view.info->live() ? "not ready" : "hung";
}

bool IsLive(const v1::ProcessInfo::View& view) { return view.state() == "live" && view.complete(); }

/// Formats "4/5 live".
std::string ViewsText(const v1::ProcessInfo& info) {
  if (info.views_size() == 0) return "-";
  return fmt::format("{}/{} live", std::ranges::count_if(info.views(), IsLive), info.views_size());
}

/// Formats "runtime stale, workers incomplete": views that are not live and complete.
std::string OddViews(const v1::ProcessInfo& info) {
  std::string odd;
  for (const auto& view : info.views()) {
    if (IsLive(view)) continue;
    odd += fmt::format("{}{} {}", odd.empty() ? "" : ", ", view.table(),
                       view.state() == "live" ? "incomplete" : view.state());
  }
  return odd;
}

std::string LastErrorText(const v1::ProcessInfo& info, WallTime now) {
  if (info.last_error().empty()) return "-";
  return fmt::format("{} ago: {}", operate::Age(now, info.last_error_wall_ns()), info.last_error());
}

/// Lines below the table for each process that is unhealthy or whose views are not complete.
std::string Notes(const std::vector<operate::ProcessView>& processes) {
  std::string notes;
  for (const operate::ProcessView& view : processes) {
    const std::string reason = view.info == nullptr ? view.problem : view.info->reason();
    if (view.refused)
      notes += OneLine(reason) + "\n";
    else if (HealthText(view) != "ok")
      notes += fmt::format("{} is {}: {}\n", view.name, HealthText(view), OneLine(reason));
    const std::string odd = view.info == nullptr ? "" : OddViews(*view.info);
    if (!odd.empty()) notes += fmt::format("{} views: {}\n", view.name, OneLine(odd));
    if (view.info == nullptr) continue;
    for (const auto& note : view.info->notes())
      notes += fmt::format("{}: {}\n", view.name, OneLine(note));
  }
  return notes.empty() ? "" : "\n" + notes;
}

template <class Strings>
std::string StringsJson(const Strings& strings) {
  std::string out;
  for (const auto& text : strings) out += (out.empty() ? "" : ", ") + operate::JsonString(text);
  return "[" + out + "]";
}

std::string ViewsJson(const v1::ProcessInfo& info) {
  std::string out;
  for (const auto& view : info.views())
    out += fmt::format("{}{{\"table\": {}, \"state\": {}, \"complete\": {}, \"records\": {}}}",
                       out.empty() ? "" : ", ", operate::JsonString(view.table()),
                       operate::JsonString(view.state()), view.complete(), view.records());
  return "[" + out + "]";
}

int64_t UptimeSeconds(const v1::ProcessInfo& info, WallTime now) {
  return info.started_at_wall_ns() == 0
             ? 0
             : (now - WallFromNanos(info.started_at_wall_ns())) / std::chrono::seconds(1);
}

std::string OneJson(const operate::ProcessView& view, WallTime now) {
  static const v1::ProcessInfo none;
  const v1::ProcessInfo& info = view.info == nullptr ? none : *view.info;
  const std::string started =
      info.started_at_wall_ns() == 0 ? "" : FormatRfc3339(WallFromNanos(info.started_at_wall_ns()));
  const std::vector<std::pair<const char*, std::string>> fields = {
      {"name", operate::JsonString(view.name)},
      {"pid", PidText(info.pid(), "null")},
      {"restarts", fmt::format("{}", view.info == nullptr ? view.restarts : info.restarts())},
      {"healthy", info.live() && info.ready() ? "true" : "false"},
      {"uptimeSeconds", fmt::format("{}", UptimeSeconds(info, now))},
      {"metricsAddress", operate::JsonString(info.metrics_address())},
      {"version", operate::JsonString(info.version())},
      {"startTime", operate::JsonString(started)},
      {"reason", operate::JsonString(view.info == nullptr ? view.problem : info.reason())},
      {"busConnected", info.bus_connected() ? "true" : "false"},
      {"views", ViewsJson(info)},
      {"notes", StringsJson(info.notes())},
      {"lastError", operate::JsonString(info.last_error())}};
  std::string out;
  for (const auto& [name, value] : fields)
    out += fmt::format("{}        \"{}\": {}", out.empty() ? "" : ",\n", name, value);
  return "    {\n" + out + "\n    }";
}

std::string ProblemsJson(const v1::Source& source) {
  std::string out;
  for (const auto& problem : source.problems())
    out += fmt::format(
        "{}{{\"where\": {}, \"reason\": {}, \"since\": {}}}", out.empty() ? "" : ", ",
        operate::JsonString(problem.where()), operate::JsonString(problem.reason()),
        operate::JsonString(problem.since_wall_ns() == 0
                                ? ""
                                : FormatRfc3339(WallFromNanos(problem.since_wall_ns()))));
  return "[" + out + "]";
}

}  // namespace

std::string ListOfProcesses() {
  std::string list;
  for (const ProcessRow& row : kProcesses)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", row.name);
  return list;
}

std::string ProcessTable(const std::vector<operate::ProcessView>& processes, WallTime now) {
  operate::Table table(
      {"NAME", "PID", "VERSION", "STARTED", "RESTARTS", "HEALTH", "BUS", "VIEWS", "LAST ERROR"});
  for (const operate::ProcessView& view : processes) {
    if (view.info == nullptr) {
      table.Add({view.name, "-", "-", "-", fmt::format("{}", view.restarts), HealthText(view), "-",
                 "-", "-"});
      continue;
    }
    const v1::ProcessInfo& info = *view.info;
    table.Add({view.name, PidText(info.pid(), "-"), info.version(),
               operate::Age(now, info.started_at_wall_ns()) + " ago",
               fmt::format("{}", info.restarts()), HealthText(view),
               info.bus_connected() ? "connected" : "away", ViewsText(info),
               LastErrorText(info, now)});
  }
  return table.Text() + Notes(processes);
}

std::string ProcessJson(const std::vector<operate::ProcessView>& processes, WallTime now) {
  std::string out;
  for (const operate::ProcessView& view : processes)
    out += (out.empty() ? "" : ",\n") + OneJson(view, now);
  return out.empty() ? "[]\n" : "[\n" + out + "\n]\n";
}

std::string ReasonOf(const v1::SourceProblem& problem) {
  const std::string place = problem.where() + ": ";
  return problem.reason().starts_with(place) ? problem.reason().substr(place.size())
                                             : problem.reason();
}

std::string SourceTable(const v1::Sources& sources, WallTime now) {
  operate::Table table({"NAME", "PATH", "COMPLETE", "PODS", "PROBLEMS"});
  operate::Table problems({"SOURCE", "SINCE", "WHERE", "REASON"});
  std::string reasons;
  for (const v1::Source& source : sources.sources()) {
    table.Add({source.name(), source.path(), source.complete() ? "yes" : "no",
               fmt::format("{}", source.pods()), fmt::format("{}", source.problems_size())});
    if (!source.complete() && !source.reason().empty())
      reasons +=
          OneLine(fmt::format("{} is not complete: {}", source.name(), source.reason())) + "\n";
    for (const auto& problem : source.problems())
      problems.Add({source.name(), operate::Age(now, problem.since_wall_ns()), problem.where(),
                    ReasonOf(problem)});
  }
  std::string text = table.Text();
  if (!reasons.empty()) text += "\n" + reasons;
  return problems.empty() ? text : text + "\n" + problems.Text();
}

std::string SourceJson(const v1::Sources& sources) {
  std::string out;
  for (const v1::Source& source : sources.sources())
    out += fmt::format(
        "{}    {{\"name\": {}, \"path\": {}, \"complete\": {}, \"reason\": {}, \"pods\": {}, "
        "\"problems\": {}}}",
        out.empty() ? "" : ",\n", operate::JsonString(source.name()),
        operate::JsonString(source.path()), source.complete(), operate::JsonString(source.reason()),
        source.pods(), ProblemsJson(source));
  return out.empty() ? "[]\n" : "[\n" + out + "\n]\n";
}

}  // namespace splitlet::ctl
