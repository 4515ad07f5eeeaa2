#pragma once

/// A measured value: a line of JSON that run.sh collects into build/bench.json, in its `unit`.
/// Threads: any.

#include <functional>
#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::bench {

struct Result {
  std::string name, unit;
  std::vector<double> values;  // measured values
  std::vector<double> floor;   // the same work by raw calls, in the same run; may be empty
  /// Targets. `overhead_p50` and `overhead_p99` bound value minus floor's median; `ratio` bounds
  /// the quotient of the medians; `limit_p50` and `limit_p99` bound the value itself.
  /// Negative: no target.
  double overhead_p50 = -1, overhead_p99 = -1, ratio = -1, limit_p50 = -1, limit_p99 = -1;
};

double Ms(int64_t ns);

/// Like harness::WaitFor, but polls every `period`, because listing many pods disturbs the
/// measurement.
bool WaitEvery(Duration period, Duration limit, const std::function<bool()>& condition);

/// p in [0, 1]; nearest rank; 0 for no values.
double Percentile(std::vector<double> values, double p);

/// Prints the line to stdout. True if the targets are met.
bool Print(const Result& result);

}  // namespace splitlet::bench
