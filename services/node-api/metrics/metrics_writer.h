#pragma once

/// Writes samples of stats in the text format of Prometheus, with the time of the stats.
/// Threads: one; nothing fails.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libs/daemon/metrics_text.h"

namespace splitlet::node_api {

using MetricLabels = std::vector<std::pair<const char*, std::string>>;

class MetricsWriter {
 public:
  explicit MetricsWriter(int64_t at_ns) : at_(fmt::format(" {}", at_ns / 1'000'000)) {}
  /// The heading precedes the first sample, so a family without samples is not shown.
  void Family(const char* name, const char* type, const char* help) {
    name_ = name;
    heading_ = fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void Sample(const MetricLabels& labels, double value, bool timed = true) {
    out_ += std::exchange(heading_, "") + name_;
    for (size_t i = 0; i < labels.size(); ++i)
      out_ += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", labels[i].first,
                          Escaped(labels[i].second));
    out_ += fmt::format("{} {}{}\n", labels.empty() ? "" : "}", daemon::NumberText(value),
                        timed ? at_ : "");
  }
  std::string Take() { return std::move(out_); }

 private:
  static std::string Escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '\\' || c == '"') out += '\\';
      if (c == '\n')
        out += "\\n";
      else
        out += c;
    }
    return out;
  }

  const std::string at_;
  std::string name_, heading_, out_;
};

inline double SecondsOf(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace splitlet::node_api
