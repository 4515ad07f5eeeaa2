#include "libs/operate/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "libs/operate/text.h"

namespace splitlet::operate {
namespace {

constexpr double kLabel = 150, kWidth = 975, kRow = 15, kTop = 22;
constexpr size_t kMaxLabel = 20;

const char* ColourOf(const std::string& style) {
  static const std::map<std::string, const char*> kColours = {
      {"wanted", "#dfe6ee"}, {"running", "#4a90d9"}, {"fault", "#f0a35e"},
      {"load", "#5b6b7f"},   {"start", "#2e9e5b"},   {"violation", "#d31f1f"}};
  const auto found = kColours.find(style);
  return found == kColours.end() ? "#888888" : found->second;
}

/// Rows that are neither a process nor a pod: a file system, the whole node, leftovers.
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

/// Positions of rows and times in the picture.
struct Picture {
  std::map<std::string, double> rows;  // row -> its top
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
double TickOf(double length) {
  const double rough = std::max(length, 0.001) / 8;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= rough) return step * power;
  return 10 * power;
}

std::string Grid(const Timeline& t, const Picture& picture) {
  std::string svg;
  const double length = static_cast<double>(t.length / 1ms) / 1000.0;
  const double tick = TickOf(length);
  const int ticks = static_cast<int>(length / tick + 1e-9);
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
  std::vector<Mark> marks = t.marks;  // violations last, so that nothing covers them
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

}  // namespace splitlet::operate
