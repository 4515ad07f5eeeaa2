#pragma once

/// What a round did, or would do.
/// Threads: values.
/// Errors: none.
/// Units: bytes.

#include <cstdint>
#include <map>
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
  size_t blocked_pod_dirs = 0;    // of pods that are gone, and stay for what is in them
  /// Of these, where pod-worker has taken down what it could: UID -> what is there still.
  std::map<std::string, std::string> stuck;
  std::string error;  // the round ended early
};

}  // namespace splitlet::gc
