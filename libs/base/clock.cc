#include "libs/base/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "libs/base/fail_point.h"
#include "libs/base/hash.h"

namespace splitlet {
namespace {

std::string ReadBootId() {
  if (const char* forced = std::getenv("SPLITLET_BOOT_ID")) return forced;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

Duration ReadClock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

}  // namespace

Duration Remaining(const Clock& clock, const Deadline& deadline) {
  const Duration left = deadline.at - clock.Now();
  return left > Duration{0} ? left : Duration{0};
}

RealClock::RealClock() : boot_(Fnv1a64(ReadBootId()) | 1) {}  // never 0, which means "no time"

Clock::Time RealClock::Now() const { return {boot_, ReadClock(CLOCK_MONOTONIC)}; }

/// Shifts the wall clock of this process alone: a test cannot move the clock of the machine.
WallTime RealClock::WallNow() const {
  return WallTime{ReadClock(CLOCK_REALTIME) + FAIL_POINT_SHIFT("clock.wall")};
}

std::string FormatRfc3339(WallTime time) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", parts);
}

std::string FormatRfc3339Micro(WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time - whole).count();
  std::string text = FormatRfc3339(time);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micros);
}

}  // namespace splitlet
