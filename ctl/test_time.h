#pragma once

/// The fixed time of the clock in the tests.

#include <chrono>

#include "libs/base/clock.h"

namespace splitlet::ctl {

inline const WallTime kNow{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} +
                           std::chrono::hours{12}};

}  // namespace splitlet::ctl
