#pragma once

/// A time of an object as `describe` shows it. Any thread; nothing fails.

#include <string>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/base/clock.h"

namespace splitlet::ctl {

inline std::string TimeText(const k8s::io::apimachinery::pkg::apis::meta::v1::Time& time) {
  return FormatRfc3339(WallFromNanos(time.seconds() * 1'000'000'000 + time.nanos()));
}

}  // namespace splitlet::ctl
