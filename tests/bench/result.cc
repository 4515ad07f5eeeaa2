#include "tests/bench/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

namespace splitlet::bench {
namespace {

struct Judged {
  bool pass = true;
  std::string target;
};

void Judge(Judged& judged, double value, double limit, const std::string& what) {
  if (limit < 0) return;
  judged.pass = judged.pass && value <= limit;
  judged.target += fmt::format("{}{} <= {}", judged.target.empty() ? "" : ", ", what, limit);
}

}  // namespace

double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

bool WaitEvery(Duration period, Duration limit, const std::function<bool()>& condition) {
  const RealClock clock;
  const auto end = clock.Now() + limit;
  while (!condition()) {
    if (clock.Now() >= end) return false;
    std::this_thread::sleep_for(period);
  }
  return true;
}

double Percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(values.size())));
  return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
}

bool Print(const Result& r) {
  const double p50 = Percentile(r.values, 0.5);
  const double p99 = Percentile(r.values, 0.99);
  const double floor = Percentile(r.floor, 0.5);
  const double ratio = floor > 0 ? p50 / floor : 0;
  Judged judged;
  Judge(judged, p50 - floor, r.overhead_p50, "overhead p50");
  Judge(judged, p99 - floor, r.overhead_p99, "overhead p99");
  Judge(judged, ratio, r.ratio, "ratio");
  Judge(judged, p50, r.limit_p50, "p50");
  Judge(judged, p99, r.limit_p99, "p99");
  if (r.values.empty()) judged.pass = false;
  fmt::print(
      R"({{"name": "{}", "unit": "{}", "p50": {:.3f}, "p99": {:.3f}, "floorP50": {:.3f}, "ratio": {:.3f}, "target": "{}", "pass": {}}})"
      "\n",
      r.name, r.unit, p50, p99, floor, ratio, judged.target, judged.pass);
  std::fflush(stdout);
  return judged.pass;
}

}  // namespace splitlet::bench
