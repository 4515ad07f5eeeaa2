#include "libs/daemon/metrics_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::daemon {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// `quotes`: escapes quotes too, as in a label's value.
std::string Escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
  return out;
}

std::string_view NameOf(MetricType type) {
  switch (type) {
    case MetricType::Counter: return "counter";
    case MetricType::Gauge: return "gauge";
    case MetricType::Summary: return "summary";
    case MetricType::Histogram: return "histogram";
    case MetricType::Untyped: return "untyped";
  }
  UNREACHABLE();
}

/// Lines of one metric: its labels, and one more for buckets and quantiles.
class Lines {
 public:
  Lines(std::string& out, const std::string& name, const ClientMetric& metric)
      : out_(out), name_(name), time_ms_(metric.timestamp_ms) {
    for (const auto& label : metric.label)
      labels_ += fmt::format("{}{}=\"{}\"", labels_.empty() ? "" : ",", label.name,
                             Escaped(label.value, true));
  }
  void Add(std::string_view suffix, double value, const std::string& more = "") {
    const std::string labels = labels_ + (labels_.empty() || more.empty() ? "" : ",") + more;
    out_ += name_;
    out_ += suffix;
    if (!labels.empty()) out_ += fmt::format("{{{}}}", labels);
    out_ += " " + NumberText(value);
    if (time_ms_ != 0) out_ += fmt::format(" {}", time_ms_);
    out_ += "\n";
  }

 private:
  std::string& out_;
  const std::string& name_;
  const int64_t time_ms_;
  std::string labels_;
};

void AddHistogram(const ClientMetric::Histogram& histogram, Lines& lines) {
  const auto count = static_cast<double>(histogram.sample_count);
  bool infinite = false;
  for (const auto& bucket : histogram.bucket) {
    infinite = infinite || std::isinf(bucket.upper_bound);
    lines.Add("_bucket", static_cast<double>(bucket.cumulative_count),
              fmt::format("le=\"{}\"", NumberText(bucket.upper_bound)));
  }
  if (!infinite) lines.Add("_bucket", count, "le=\"+Inf\"");
  lines.Add("_sum", histogram.sample_sum);
  lines.Add("_count", count);
}

void AddSummary(const ClientMetric::Summary& summary, Lines& lines) {
  for (const auto& quantile : summary.quantile)
    lines.Add("", quantile.value, fmt::format("quantile=\"{}\"", NumberText(quantile.quantile)));
  lines.Add("_sum", summary.sample_sum);
  lines.Add("_count", static_cast<double>(summary.sample_count));
}

void AddMetric(MetricType type, const ClientMetric& metric, Lines& lines) {
  switch (type) {
    case MetricType::Counter: return lines.Add("", metric.counter.value);
    case MetricType::Gauge: return lines.Add("", metric.gauge.value);
    case MetricType::Untyped: return lines.Add("", metric.untyped.value);
    case MetricType::Summary: return AddSummary(metric.summary, lines);
    case MetricType::Histogram: return AddHistogram(metric.histogram, lines);
  }
}

}  // namespace

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> buffer{};
  char* const begin = buffer.data();
  const auto write = [&](std::chars_format format) {
    return std::string_view(
        begin, static_cast<size_t>(std::to_chars(begin, begin + buffer.size(), value, format).ptr -
                                   begin));
  };
  const std::string scientific(write(std::chars_format::scientific));
  int exponent = 0;
  const char* digits = scientific.data() + scientific.find('e') + 1;
  if (*digits == '+') ++digits;
  std::from_chars(digits, scientific.data() + scientific.size(), exponent);
  // The bounds at which Go's 'g' changes its form.
  if (exponent < -4 || exponent >= 6) return scientific;
  return std::string(write(std::chars_format::fixed));
}

std::string MetricsText(const std::vector<MetricFamily>& families) {
  std::string out;
  for (const MetricFamily& family : families) {
    if (!family.help.empty())
      out += fmt::format("# HELP {} {}\n", family.name, Escaped(family.help, false));
    out += fmt::format("# TYPE {} {}\n", family.name, NameOf(family.type));
    for (const ClientMetric& metric : family.metric) {
      Lines lines(out, family.name, metric);
      AddMetric(family.type, metric, lines);
    }
  }
  return out;
}

}  // namespace splitlet::daemon
