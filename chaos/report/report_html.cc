#include "chaos/report/report_html.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "libs/operate/text.h"
#include "libs/operate/timeline.h"

namespace splitlet::chaos {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light; }
body { font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; color: #1c2430; margin: 0 auto;
  max-width: 1200px; padding: 24px; background: #fff; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 28px 0 8px; }
.about { color: #56606e; margin: 0 0 14px; }
.verdict { display: inline-block; padding: 3px 12px; border-radius: 12px; font-weight: 600; }
.good { background: #d9f2e1; color: #0b5f2c; } .bad { background: #fbdada; color: #8c1212; }
table { border-collapse: collapse; margin: 8px 0; } td, th { text-align: left;
  padding: 3px 14px 3px 0; border-bottom: 1px solid #e4e8ee; vertical-align: top; }
th { color: #56606e; font-weight: 600; } td.n { text-align: right; }
pre { font: 12px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; background: #f5f7fa;
  padding: 10px; overflow-x: auto; border-radius: 4px; margin: 6px 0; }
details { margin: 6px 0; } summary { cursor: pointer; }
.violation { border-left: 4px solid #d33; padding: 2px 0 2px 12px; margin: 10px 0; }
svg { display: block; font: 11px system-ui, "DejaVu Sans", sans-serif; }
.legend span { margin-right: 18px; white-space: nowrap; }
.legend i { display: inline-block; width: 14px; height: 10px; margin-right: 5px; }
)";

std::string Legend() {
  std::string html = "<p class=\"legend\">";
  const std::pair<const char*, const char*> kEntries[] = {
      {"#dfe6ee", "pod is wanted"},  {"#4a90d9", "container runs"},
      {"#f0a35e", "fault lasts"},    {"#c2570c", "fault begins"},
      {"#2e9e5b", "process starts"}, {"#5b6b7f", "manifest put or removed"},
      {"#d31f1f", "violation"}};
  for (const auto& [colour, text] : kEntries)
    html += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", colour, text);
  return html + "</p>\n";
}

std::string CountRows(const std::map<std::string, int>& done,
                      const std::map<std::string, int>& failed) {
  std::map<std::string, std::pair<int, int>> both;
  for (const auto& [name, count] : done) both[name].first = count;
  for (const auto& [name, count] : failed) both[name].second = count;
  std::string rows = "<table><tr><th>what</th><th>done</th><th>could not be done</th></tr>\n";
  for (const auto& [name, counts] : both)
    rows += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                        operate::HtmlText(name), counts.first, counts.second);
  return rows + "</table>\n";
}

std::string PeakRows(const std::map<std::string, Peak>& peaks) {
  std::string rows =
      "<table><tr><th>process</th><th>most memory</th><th>most descriptors</th>"
      "<th>starts seen</th></tr>\n";
  for (const auto& [name, peak] : peaks)
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{} MiB</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        operate::HtmlText(name), peak.memory_bytes >> 20, peak.descriptors, peak.starts);
  return rows + "</table>\n";
}

std::string ViolationHtml(const Violation& v) {
  std::string html = fmt::format("<div class=\"violation\"><b>{}</b>: {} {} <small>at {}</small>\n",
                                 operate::HtmlText(v.rule), operate::HtmlText(v.subject),
                                 operate::HtmlText(v.text), operate::TimeText(v.at));
  if (!v.around.empty()) {
    html += "<details><summary>events around the violation</summary><pre>";
    for (const auto& line : v.around) html += operate::HtmlText(line) + "\n";
    html += "</pre></details>";
  }
  return html + "</div>\n";
}

std::string RoundHtml(const Outcome& round, size_t number) {
  std::string html = fmt::format(
      "<h2>Round {}: seed {}</h2>\n<p>{} until all pods ran, {} to settle after the last fault, "
      "{} until everything was removed. {} inspections, at most {} apart; the runtime did not "
      "answer {} of "
      "them, status {}. The plan was at most {} late.{}{}</p>\n",
      number, round.seed, operate::TimeText(round.to_start), operate::TimeText(round.to_settle),
      operate::TimeText(round.to_go), round.inspections, operate::TimeText(round.longest_gap),
      round.blind_to_runtime, round.blind_to_status, operate::TimeText(round.latest_step),
      round.runtime_leaks.empty()
          ? ""
          : fmt::format(" The runtime has forgotten {} resources.", round.runtime_leaks.size()),
      round.interrupted ? " Interrupted." : "");
  for (const auto& v : round.violations) html += ViolationHtml(v);
  html += operate::TimelineSvg(round.timeline) + Legend();
  html += CountRows(round.done, round.failed) + PeakRows(round.peaks);
  html += fmt::format("<details><summary>Timeline ({} lines)</summary><pre>",
                      round.timeline.entries.size());
  for (const operate::Entry& entry : round.timeline.entries)
    html += operate::HtmlText(fmt::format("{:>9}  {:14} {}", operate::TimeText(entry.at), entry.who,
                                          entry.text)) +
            "\n";
  return html + "</pre></details>\n";
}

}  // namespace

std::string ReportHtml(const Report& report) {
  const size_t violations = ViolationsOf(report);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<title>chaos: {0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n"
      "<p class=\"about\">{2}</p>\n<p><span class=\"verdict {3}\">{4}</span></p>\n",
      operate::HtmlText(report.scenario), kStyle, operate::HtmlText(report.about),
      violations == 0 ? "good" : "bad",
      violations == 0 ? "no violation" : fmt::format("{} violations", violations));
  html += fmt::format(
      "<table><tr><th>began</th><td>{}</td></tr><tr><th>took</th><td>{}</td></tr><tr><th>version"
      "</th><td>{} {}</td></tr><tr><th>rounds</th><td>{}</td></tr><tr><th>again</th><td><code>{}"
      "</code></td></tr></table>\n",
      FormatRfc3339(report.began), operate::TimeText(report.length),
      operate::HtmlText(report.version), operate::HtmlText(report.label), report.rounds.size(),
      operate::HtmlText(report.command));
  for (size_t i = 0; i < report.rounds.size(); ++i) html += RoundHtml(report.rounds[i], i + 1);
  return html + "</body></html>\n";
}

}  // namespace splitlet::chaos
