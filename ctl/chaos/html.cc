#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ctl/chaos/report.h"

namespace splitlet::chaos {
namespace {

constexpr double kLabel = 150, kWidth = 975, kRow = 15, kTop = 22;
constexpr size_t kMaxLabel = 20;

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

const char* ColourOf(const std::string& style) {
  static const std::map<std::string, const char*> kColours = {
      {"wanted", "#dfe6ee"}, {"running", "#4a90d9"}, {"fault", "#f0a35e"},
      {"load", "#5b6b7f"},   {"start", "#2e9e5b"},   {"violation", "#d31f1f"}};
  const auto found = kColours.find(style);
  return found == kColours.end() ? "#888888" : found->second;
}

/// What is neither a process nor a pod: a file system, the whole node, what was left over.
std::vector<std::string> OtherRows(const Timeline& t) {
  std::vector<std::string> others;
  const auto add = [&](const std::string& row) {
    for (const auto* rows : {&t.processes, &t.pods, &std::as_const(others)})
      if (std::ranges::find(*rows, row) != rows->end()) return;
    others.push_back(row);
  };
  for (const Bar& bar : t.bars) add(bar.row);
  for (const Mark& mark : t.marks) add(mark.row);
  return others;
}

/// Rows of a timeline: where each is, and what a time is across.
struct Picture {
  std::map<std::string, double> rows;  // -> top
  double height = 0, per_second = 1;

  explicit Picture(const Timeline& t) {
    double y = kTop;
    const auto add = [&](const std::vector<std::string>& names) {
      for (const auto& name : names) {
        rows[name] = y;
        y += kRow;
      }
      y += names.empty() ? 0 : 8;
    };
    add(t.processes);
    add(OtherRows(t));
    add(t.pods);
    height = y;
    per_second = kWidth / std::max(0.001, static_cast<double>(t.length / 1ms) / 1000.0);
  }
  double X(Duration at) const {
    return kLabel + static_cast<double>(at / 1ms) / 1000.0 * per_second;
  }
};

/// Round numbers of seconds, six to twelve of them.
double TickOf(double seconds) {
  const double rough = std::max(seconds, 0.001) / 8;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= rough) return step * power;
  return 10 * power;
}

std::string Grid(const Timeline& t, const Picture& picture) {
  std::string svg;
  const double seconds = static_cast<double>(t.length / 1ms) / 1000.0;
  const double tick = TickOf(seconds);
  const int ticks = static_cast<int>(seconds / tick + 1e-9);
  for (int i = 0; i <= ticks; ++i) {
    const double s = i * tick;
    const double x = kLabel + s * picture.per_second;
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#e4e8ee\"/>"
        "<text x=\"{0:.1f}\" y=\"12\" text-anchor=\"middle\" fill=\"#56606e\">{3:g} s</text>\n",
        x, kTop - 4, picture.height, s);
  }
  for (const auto& [name, y] : picture.rows)
    svg += fmt::format(
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#1c2430\">{}{}</text>\n",
        kLabel - 8, y + kRow - 4, HtmlText(name.substr(0, kMaxLabel)),
        name.size() > kMaxLabel ? "...<title>" + HtmlText(name) + "</title>" : "");
  return svg;
}

std::string Bars(const Timeline& t, const Picture& picture) {
  std::string svg;
  for (const char* style : {"wanted", "running", "fault"})
    for (const Bar& bar : t.bars) {
      if (bar.style != style) continue;
      const double inset = bar.style == "running" ? 4 : 1;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\""
          "{}><title>{}</title></rect>\n",
          picture.X(bar.from), picture.rows.at(bar.row) + inset,
          std::max(1.0, picture.X(bar.to) - picture.X(bar.from)), kRow - 2 * inset, ColourOf(style),
          bar.style == "fault" ? " fill-opacity=\"0.75\"" : "",
          HtmlText(fmt::format("{}: {} from {} to {}", bar.row, bar.text, TimeText(bar.from),
                               TimeText(bar.to))));
    }
  return svg;
}

std::string Marks(const Timeline& t, const Picture& picture) {
  std::string svg;
  std::vector<Mark> marks = t.marks;  // violations last: nothing covers them
  std::stable_partition(marks.begin(), marks.end(),
                        [](const Mark& m) { return m.style != "violation"; });
  for (const Mark& mark : marks) {
    const double top = picture.rows.at(mark.row) + 1;
    const bool loud = mark.style == "violation";
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"{}\"><title>{}"
        "</title></rect>\n",
        picture.X(mark.at) - (loud ? 1.5 : 1), top, loud ? 3 : 2, kRow - 2,
        mark.style == "fault" ? "#c2570c" : ColourOf(mark.style),
        HtmlText(fmt::format("{} at {}", mark.text, TimeText(mark.at))));
  }
  return svg;
}

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
                        HtmlText(name), counts.first, counts.second);
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
        HtmlText(name), peak.memory_bytes >> 20, peak.descriptors, peak.starts);
  return rows + "</table>\n";
}

std::string ViolationHtml(const Violation& v) {
  std::string html =
      fmt::format("<div class=\"violation\"><b>{}</b>: {} {} <small>at {}</small>\n",
                  HtmlText(v.rule), HtmlText(v.subject), HtmlText(v.text), TimeText(v.at));
  if (!v.around.empty()) {
    html += "<details><summary>what happened around it</summary><pre>";
    for (const auto& line : v.around) html += HtmlText(line) + "\n";
    html += "</pre></details>";
  }
  return html + "</div>\n";
}

std::string RoundHtml(const Outcome& round, size_t number) {
  std::string html = fmt::format(
      "<h2>Round {}: seed {}</h2>\n<p>{} until all pods ran, {} to settle after the last fault, "
      "{} until all was gone. Looked {} times, at most {} apart; the runtime did not answer {} of "
      "these looks, status {}. The plan was {} late at worst.{}{}</p>\n",
      number, round.seed, TimeText(round.to_start), TimeText(round.to_settle),
      TimeText(round.to_go), round.looks, TimeText(round.longest_gap), round.blind_to_runtime,
      round.blind_to_status, TimeText(round.latest_step),
      round.forgotten.empty()
          ? ""
          : fmt::format(" The runtime lost sight of {} things.", round.forgotten.size()),
      round.interrupted ? " Interrupted." : "");
  for (const auto& v : round.violations) html += ViolationHtml(v);
  html += TimelineSvg(round.timeline) + Legend();
  html += CountRows(round.done, round.failed) + PeakRows(round.peaks);
  html += fmt::format("<details><summary>All that was done and seen ({} lines)</summary><pre>",
                      round.timeline.entries.size());
  for (const Entry& entry : round.timeline.entries)
    html +=
        HtmlText(fmt::format("{:>9}  {:14} {}", TimeText(entry.at), entry.who, entry.text)) + "\n";
  return html + "</pre></details>\n";
}

}  // namespace

std::string HtmlText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string TimelineSvg(const Timeline& timeline) {
  const Picture picture(timeline);
  const double width = kLabel + kWidth + 20;
  return fmt::format(
             "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
             "aria-label=\"timeline\" xmlns=\"http://www.w3.org/2000/svg\">\n",
             width, picture.height) +
         Grid(timeline, picture) + Bars(timeline, picture) + Marks(timeline, picture) + "</svg>\n";
}

std::string ReportHtml(const Report& report) {
  const size_t violations = ViolationsOf(report);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<title>chaos: {0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n"
      "<p class=\"about\">{2}</p>\n<p><span class=\"verdict {3}\">{4}</span></p>\n",
      HtmlText(report.scenario), kStyle, HtmlText(report.about), violations == 0 ? "good" : "bad",
      violations == 0 ? "no violation" : fmt::format("{} violations", violations));
  html += fmt::format(
      "<table><tr><th>began</th><td>{}</td></tr><tr><th>took</th><td>{}</td></tr><tr><th>version"
      "</th><td>{} {}</td></tr><tr><th>rounds</th><td>{}</td></tr><tr><th>again</th><td><code>{}"
      "</code></td></tr></table>\n",
      FormatRfc3339(report.began), TimeText(report.length), HtmlText(report.version),
      HtmlText(report.label), report.rounds.size(), HtmlText(report.command));
  for (size_t i = 0; i < report.rounds.size(); ++i) html += RoundHtml(report.rounds[i], i + 1);
  return html + "</body></html>\n";
}

}  // namespace splitlet::chaos
