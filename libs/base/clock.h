#pragma once

/// `Clock::Time` measures, also between processes; `WallTime` is for people and the API only.
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

/// A call that may be given up early: set once, seen by everybody who holds it.
/// The CRI and RPC clients cancel what they have in flight.
class CancelToken;

class Clock {
 public:
  struct Time {
    uint64_t boot = 0;      ///< first 8 bytes of the kernel's boot id; 0 means "no time"
    Duration monotonic{0};  ///< CLOCK_MONOTONIC
    bool operator==(const Time&) const = default;
    explicit operator bool() const { return boot != 0; }
    /// Of one boot only; a time of another boot is earlier than every time of this one only by
    /// caller's rule 6.
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

/// When a call must have answered. Each outside call takes one; there is no "forever".
struct Deadline {
  Clock::Time at;
  std::shared_ptr<CancelToken> cancel = nullptr;  ///< may be null: cannot be given up early
};

inline Deadline After(const Clock& clock, Duration d) { return {clock.Now() + d}; }

/// Never negative: what is left of a deadline.
Duration Remaining(const Clock& clock, const Deadline& deadline);

/// The kernel's clocks. SPLITLET_BOOT_ID in the environment replaces the boot id (a hook of the
/// tests).
class RealClock final : public Clock {
 public:
  RealClock();
  Time Now() const override;
  WallTime WallNow() const override;

 private:
  uint64_t boot_;
};

/// Stands still until told. Timers of a fake loop are run by that loop, see libs/exec/fake_exec.h.
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
