#pragma once

/// Named fail points at each outside effect. Off by default: one relaxed atomic load.
///   FAIL_POINT("gc.hold.before");                 in a function that returns Status or StatusOr
///   FAIL_POINT_VOID("bus.put.after");             elsewhere: crash, delay and pause only
///   if (FAIL_POINT_DROP("bus.publish")) return;   true: leave the effect out
///   time + FAIL_POINT_SHIFT("clock.wall")         a Duration, 0 unless shifted
/// Not in templates or inline functions: each site is a static record that `fault list` shows.
/// Terms, after fail(9): off | return(code,message) | delay(100ms) | pause | crash | drop |
/// shift(-1h), each with an optional count "3*" or probability "5%", joined by "->":
/// "3*return(unavailable,busy)->off".
/// Threads: any.
/// Errors: a bad term is INVALID_ARGUMENT naming it.
/// Source: docs/design.md, "Fault injection".

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet {

class FailPoints {
 public:
  struct Outcome {
    Status status;      // error to return; OK: continue
    bool drop = false;  // true: skip the effect
    std::chrono::nanoseconds shift{0};
  };
  /// The effects of `crash`, `delay` and `pause`; the simulation replaces them. `pause` blocks
  /// until the point is changed.
  struct Actions {
    std::function<void()> crash;                     // default: SIGKILL to this process
    std::function<void(int64_t nanoseconds)> delay;  // default: sleeps
  };

  FailPoints();
  explicit FailPoints(Actions actions);
  ~FailPoints();

  /// Replaces the term of one point. The name may be unknown; List shows it nevertheless.
  /// FAILED_PRECONDITION after Lock.
  Status Set(std::string_view name, std::string_view term);
  /// "a=crash;b=5%drop", the form of SPLITLET_FAILPOINTS. Sets nothing if one part is malformed.
  Status SetAll(std::string_view list);
  /// "" clears all terms.
  void Clear(std::string_view name);
  /// For production: later calls cannot set a point.
  void Lock();
  bool locked() const;

  struct Info {
    std::string name;
    std::string term;   // "off" when not set, or when its count is used up
    uint64_t hits = 0;  // number of times that a term other than off acted
  };
  /// All sites of this program and all names that were set, sorted by name.
  std::vector<Info> List() const;

  Outcome Hit(std::string_view name);

  /// The fail points in force: those of the process, or those that the simulation sets while a
  /// process runs.
  static FailPoints& Current();
  static void SetCurrent(FailPoints* points);  // nullptr: the process's own again

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

namespace fail_point_internal {
extern std::atomic<int> armed;  // number of sets with at least one term
inline bool Armed() { return armed.load(std::memory_order_relaxed) != 0; }
}  // namespace fail_point_internal

}  // namespace splitlet

#define SPLITLET_FAIL_POINT_SITE(name)        \
  static const char* const splitlet_fail_site \
      __attribute__((section("splitlet_fail_sites"), used)) = name

#define FAIL_POINT(name)                                                         \
  do {                                                                           \
    SPLITLET_FAIL_POINT_SITE(name);                                              \
    if (::splitlet::fail_point_internal::Armed()) [[unlikely]] {                 \
      const auto splitlet_outcome = ::splitlet::FailPoints::Current().Hit(name); \
      if (!splitlet_outcome.status.ok()) return splitlet_outcome.status;         \
    }                                                                            \
  } while (false)

#define FAIL_POINT_VOID(name)                                         \
  do {                                                                \
    SPLITLET_FAIL_POINT_SITE(name);                                   \
    if (::splitlet::fail_point_internal::Armed()) [[unlikely]]        \
      static_cast<void>(::splitlet::FailPoints::Current().Hit(name)); \
  } while (false)

#define FAIL_POINT_DROP(name)                                \
  ([]() -> bool {                                            \
    SPLITLET_FAIL_POINT_SITE(name);                          \
    return ::splitlet::fail_point_internal::Armed() &&       \
           ::splitlet::FailPoints::Current().Hit(name).drop; \
  }())

#define FAIL_POINT_SHIFT(name)                                                         \
  ([]() -> std::chrono::nanoseconds {                                                  \
    SPLITLET_FAIL_POINT_SITE(name);                                                    \
    if (!::splitlet::fail_point_internal::Armed()) return std::chrono::nanoseconds{0}; \
    return ::splitlet::FailPoints::Current().Hit(name).shift;                          \
  }())
