#pragma once

/// What a round did, or would do.
/// Threads: values.
/// Errors: none.
/// Units: bytes.

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::gc {

struct ReportItem {
  std::string kind;  // "container", "sandbox", "log-dir", "pod-dir", "log-link", "image"
  std::string name;
  std::string reason;
  uint64_t bytes = 0;
  bool removed = false;
  std::string error;
  std::string uid;  // of its pod; empty: of none
};

struct Report {
  bool dry_run = false;
  WallTime at;
  std::vector<ReportItem> items;
  std::vector<std::string> kept;  // what was left and why
  std::string error;              // the round ended early
};

}  // namespace splitlet::gc
