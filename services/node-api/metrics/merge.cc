#include "services/node-api/metrics/merge.h"

#include <cstdlib>

#include "libs/daemon/metrics_text.h"

namespace splitlet::node_api {
namespace {

constexpr std::string_view kStartTime = "process_start_time_seconds";

std::string_view NextLine(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view NextWord(std::string_view& text) {
  const auto end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

bool IsOfProcess(std::string_view family) {
  return family.starts_with("process_") || family.starts_with("splitlet_");
}

/// The end of a series's labels; npos: no labels, or no end.
size_t EndOfLabels(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      quoted = !quoted;
    else if (!quoted && line[i] == '}')
      return i;
  }
  return std::string_view::npos;
}

std::string WithProcess(std::string_view series, const std::string& process) {
  const std::string label = "process=\"" + process + "\"";
  const auto open = series.find('{');
  if (open == std::string_view::npos) return std::string(series) + "{" + label + "}";
  const std::string_view labels = series.substr(open + 1);
  if (labels.starts_with("process=\"") || labels.find(",process=\"") != std::string_view::npos)
    return std::string(series);
  return std::string(series.substr(0, open + 1)) + label + (labels == "}" ? "" : ",") +
         std::string(labels);
}

/// True if the series only grows until its process restarts.
bool IsSummable(std::string_view type, std::string_view name) {
  if (type == "summary") return name.ends_with("_sum") || name.ends_with("_count");
  return type == "counter" || type == "histogram";
}

}  // namespace

/// The name "name" for a histogram's series "name_bucket".
std::string MetricsMerger::FamilyOf(std::string_view name) const {
  if (families_.contains(std::string(name))) return std::string(name);
  for (const std::string_view ending : {"_bucket", "_sum", "_count"}) {
    if (!name.ends_with(ending)) continue;
    const std::string base(name.substr(0, name.size() - ending.size()));
    if (families_.contains(base)) return base;
  }
  return std::string(name);
}

void MetricsMerger::AddComment(std::string_view line) {
  NextWord(line);  // '#'
  const std::string_view what = NextWord(line);
  const std::string name(NextWord(line));
  if (what == "HELP" && families_[name].help.empty()) families_[name].help = line;
  if (what == "TYPE" && families_[name].type.empty()) families_[name].type = line;
}

void MetricsMerger::Add(Family& family, const std::string& series, double value, bool sum) const {
  const auto [place, is_new] = family.values.emplace(series, value);
  if (is_new)
    family.order.push_back(series);
  else if (sum)
    place->second += value;
}

void MetricsMerger::AddSample(std::string_view line, const std::string& process,
                              Shares::Answer& answer) {
  const auto open = line.find('{');
  const auto labels_end = open == std::string_view::npos ? 0 : EndOfLabels(line);
  if (labels_end == std::string_view::npos) return;
  const auto blank = line.find(' ', labels_end);
  if (blank == std::string_view::npos) return;
  const std::string series(line.substr(0, blank));
  std::string_view rest = line.substr(blank + 1);
  const std::string number(NextWord(rest));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (end == number.c_str()) return;
  const std::string name = series.substr(0, series.find('{'));
  if (name == kStartTime) answer.started_at = value;
  const std::string family_name = FamilyOf(name);
  Family& family = families_[family_name];
  const bool sum = IsSummable(family.type, name);
  if (IsOfProcess(name))
    Add(family, WithProcess(series, process), value, sum);
  else if (sum)
    answer.samples.push_back({.series = series, .family = family_name, .value = value});
  else
    Add(family, series, value, false);
}

std::string MetricsMerger::Merge(const std::vector<Scraped>& scraped, const Wanted& wanted) {
  for (auto& [name, family] : families_) {
    family.order.clear();
    family.values.clear();
  }
  std::map<std::string, Shares::Answer> answers;
  for (const Scraped& each : scraped) {
    std::string_view text = each.text;
    Shares::Answer& answer = answers[each.process];
    while (!text.empty()) {
      const std::string_view line = NextLine(text);
      if (line.starts_with('#'))
        AddComment(line);
      else if (!line.empty())
        AddSample(line, each.process, answer);
    }
  }
  shares_.Take(answers);
  shares_.ForEach([this](const std::string& family, const std::string& series, double value) {
    Add(families_[family], series, value, true);
  });
  std::string out;
  for (const auto& [name, family] : families_) {
    if (family.order.empty() || !wanted(name)) continue;
    if (!family.help.empty()) out += "# HELP " + name + " " + family.help + "\n";
    if (!family.type.empty()) out += "# TYPE " + name + " " + family.type + "\n";
    for (const std::string& series : family.order)
      out += series + " " + daemon::NumberText(family.values.at(series)) + "\n";
  }
  return out;
}

std::string MergeMetrics(const std::vector<Scraped>& scraped, const Wanted& wanted) {
  return MetricsMerger().Merge(scraped, wanted);
}

}  // namespace splitlet::node_api
