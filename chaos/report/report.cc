#include "chaos/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libs/operate/runtime_leaks.h"
#include "libs/operate/text.h"

namespace splitlet::chaos {
namespace {

/// Lines for violations on a terminal.
constexpr size_t kMaxLines = 30;

using operate::JsonString;

double Seconds(Duration d) { return static_cast<double>(d / 1ms) / 1000.0; }

std::string CountsJson(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", JsonString(name), count);
  return "{" + text + "}";
}

std::string PeaksJson(const std::map<std::string, Peak>& peaks) {
  std::string text;
  for (const auto& [name, peak] : peaks)
    text += fmt::format("{}{}: {{\"memoryBytes\": {}, \"descriptors\": {}, \"starts\": {}}}",
                        text.empty() ? "" : ", ", JsonString(name), peak.memory_bytes,
                        peak.descriptors, peak.starts);
  return "{" + text + "}";
}

std::string ViolationJson(const Violation& v, uint64_t seed) {
  std::string around;
  for (const auto& line : v.around)
    around += (around.empty() ? "\n        " : ",\n        ") + JsonString(line);
  return fmt::format(
      "{{\"rule\": {}, \"subject\": {}, \"text\": {}, \"seed\": {}, \"atSeconds\": {}, \"time\": "
      "{}, \"around\": [{}]}}",
      JsonString(v.rule), JsonString(v.subject), JsonString(v.text), seed, Seconds(v.at),
      JsonString(FormatRfc3339Micro(v.wall)), around);
}

std::string RoundJson(const Outcome& round) {
  std::string violations;
  for (const auto& v : round.violations)
    violations += (violations.empty() ? "\n      " : ",\n      ") + ViolationJson(v, round.seed);
  return fmt::format(
      "    {{\"seed\": {}, \"began\": {}, \"seconds\": {}, \"interrupted\": {}, \"looks\": {},\n"
      "     \"longestGapSeconds\": {}, \"latestStepSeconds\": {}, \"looksWithoutRuntime\": {}, "
      "\"looksWithoutStatus\": {},\n"
      "     \"startSeconds\": {}, \"settleSeconds\": {}, \"goneSeconds\": {},\n"
      "     \"done\": {}, \"failed\": {}, \"forgottenByRuntime\": {},\n     \"processes\": {},\n   "
      "  \"violations\": [{}]}}",
      round.seed, JsonString(FormatRfc3339(round.timeline.began)), Seconds(round.timeline.length),
      round.interrupted, round.inspections, Seconds(round.longest_gap), Seconds(round.latest_step),
      round.blind_to_runtime, round.blind_to_status, Seconds(round.to_start),
      Seconds(round.to_settle), Seconds(round.to_go), CountsJson(round.done),
      CountsJson(round.failed), round.runtime_leaks.size(), PeaksJson(round.peaks), violations);
}

std::map<std::string, int> Summed(const Report& report,
                                  std::map<std::string, int> Outcome::*counts) {
  std::map<std::string, int> sum;
  for (const auto& round : report.rounds)
    for (const auto& [name, count] : round.*counts) sum[name] += count;
  return sum;
}

std::string CountsText(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? "nothing" : text;
}

}  // namespace

size_t ViolationsOf(const Report& report) {
  size_t count = 0;
  for (const auto& round : report.rounds) count += round.violations.size();
  return count;
}

std::string ReportJson(const Report& report) {
  std::string rounds;
  for (const auto& round : report.rounds)
    rounds += (rounds.empty() ? "" : ",\n") + RoundJson(round);
  return fmt::format(
      "{{\n  \"scenario\": {},\n  \"about\": {},\n  \"file\": {},\n  \"version\": {},\n"
      "  \"label\": {},\n  \"command\": {},\n  \"began\": {},\n  \"seconds\": {},\n"
      "  \"violations\": {},\n  \"done\": {},\n  \"failed\": {},\n  \"rounds\": [\n{}\n  ]\n}}\n",
      JsonString(report.scenario), JsonString(report.about), JsonString(report.file),
      JsonString(report.version), JsonString(report.label), JsonString(report.command),
      JsonString(FormatRfc3339(report.began)), Seconds(report.length), ViolationsOf(report),
      CountsJson(Summed(report, &Outcome::done)), CountsJson(Summed(report, &Outcome::failed)),
      rounds);
}

std::string ReportText(const Report& report) {
  std::string text =
      fmt::format("{}: {} rounds in {}; done: {}\n", report.scenario, report.rounds.size(),
                  operate::TimeText(report.length), CountsText(Summed(report, &Outcome::done)));
  if (const auto failed = Summed(report, &Outcome::failed); !failed.empty())
    text += fmt::format("could not be done: {}\n", CountsText(failed));
  size_t leaks = 0, listed = 0;
  std::set<std::string> ids;
  int inspections = 0;
  Duration gap{0}, late{0};
  for (const auto& round : report.rounds) {
    leaks += round.runtime_leaks.size();
    for (const auto& resource : round.runtime_leaks) ids.insert(operate::RuntimeIdOf(resource));
    inspections += round.inspections;
    gap = std::max(gap, round.longest_gap);
    late = std::max(late, round.latest_step);
    for (const auto& v : round.violations)
      if (++listed <= kMaxLines)
        text += fmt::format("VIOLATION seed {} at {}: {}: {} {}\n", round.seed,
                            operate::TimeText(v.at), v.rule, v.subject, v.text);
  }
  if (listed > kMaxLines) text += fmt::format("... {} more in the report\n", listed - kMaxLines);
  text += fmt::format("{} inspections, at most {} apart; the plan was at most {} late\n",
                      inspections, operate::TimeText(gap), operate::TimeText(late));
  if (leaks > 0)
    text += fmt::format("the runtime has forgotten {} resources of {} sandboxes and containers\n",
                        leaks, ids.size());
  return text + fmt::format("{} violations\n", ViolationsOf(report));
}

}  // namespace splitlet::chaos
