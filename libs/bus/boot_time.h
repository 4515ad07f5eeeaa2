#pragma once

/// A time of this boot, as records and messages carry it.
/// Threads: pure functions, any; nothing fails.

#include "libs/base/clock.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::bus {

inline void ToProto(const Clock::Time& time, v1::BootTime& out) {
  out.set_boot(time.boot);
  out.set_monotonic_ns(time.monotonic.count());
}

inline Clock::Time FromProto(const v1::BootTime& time) {
  return {time.boot(), Duration{time.monotonic_ns()}};
}

}  // namespace splitlet::bus
