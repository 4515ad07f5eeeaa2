#pragma once

/// `Clock::Time` measures durations, also between processes. `WallTime` is for people and the API.
/// Threads: any; nothing fails.
/// Units: nanoseconds.
/// Source: docs/safety.md, rules 5 and 6.

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>

namespace splitlet {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// Nanoseconds since the epoch, UTC.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

/// The early end of a call (cancel.h). Cancelling also ends CRI and RPC calls on their way.
class CancelToken;

class Clock {
 public:
  struct Time {
    uint64_t boot = 0;      ///< first 8 bytes of the kernel's boot id; 0 means "no time"
    Duration monotonic{0};  ///< CLOCK_MONOTONIC
    bool operator==(const Time&) const = default;
    explicit operator bool() const { return boot != 0; }
    /// Only times of one boot compare. By rule 6 a time of another boot counts as earlier.
    bool SameBoot(const Time& other) const { return boot == other.boot; }
    Time operator+(Duration d) const { return {boot, monotonic + d}; }
    Time operator-(Duration d) const { return {boot, monotonic - d}; }
    Duration operator-(const Time& other) const { return monotonic - other.monotonic; }
    /// Orders by monotonic time; compare only times of one boot.
    std::strong_ordering operator<=>(const Time& other) const {
      return monotonic <=> other.monotonic;
    }
  };

  virtual ~Clock() = default;
  virtual Time Now() const = 0;
  virtual WallTime WallNow() const = 0;
};

/// The time by which a call must have answered. Each outside call has a deadline, so no call waits
/// forever.
struct Deadline {
  Clock::Time at;
  std::shared_ptr<CancelToken> cancel = nullptr;  // null: the call cannot be ended early
};

inline Deadline After(const Clock& clock, Duration d) { return {clock.Now() + d}; }

/// The remaining time of a deadline, never negative.
Duration Remaining(const Clock& clock, const Deadline& deadline);

/// The kernel's clocks. In tests SPLITLET_BOOT_ID of the environment replaces the boot id.
class RealClock final : public Clock {
 public:
  RealClock();
  Time Now() const override;
  WallTime WallNow() const override;

 private:
  uint64_t boot_;
};

/// Stands still until a test moves it. A fake loop runs its own timers; see libs/exec/fake_exec.h.
class FakeClock : public Clock {
 public:
  Time Now() const override { return now_; }
  WallTime WallNow() const override { return wall_; }
  void Advance(Duration d) {
    now_.monotonic += d;
    wall_ += d;
  }
  void SetBoot(uint64_t boot) { now_ = {boot, Duration{1s}}; }
  void SetWall(WallTime wall) { wall_ = wall; }

 private:
  Time now_{1, Duration{1000s}};
  WallTime wall_{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
};

/// "2026-01-02T03:04:05Z"; with fraction "2026-01-02T03:04:05.123456Z" (microseconds).
std::string FormatRfc3339(WallTime time);
std::string FormatRfc3339Micro(WallTime time);

inline WallTime WallFromNanos(int64_t ns) { return WallTime{Duration{ns}}; }
inline int64_t ToNanos(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace splitlet
