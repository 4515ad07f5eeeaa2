#pragma once

/// Report of the removals that a round of garbage collection made, or would make.
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
  std::string uid;  // UID of the pod; empty: it belongs to no pod
};

struct Report {
  bool dry_run = false;
  WallTime at;
  std::vector<ReportItem> items;
  std::vector<std::string> kept;  // what stays, and why
  size_t blocked_pod_dirs = 0;    // directories of gone pods that stay for what they hold
  /// Blocked directories whose volumes pod-worker has torn down as far as it can: UID -> what still
  /// blocks the directory.
  std::map<std::string, std::string> stuck;
  std::string error;  // why the round ended early
  /// A renamed directory holds more than the round could remove in its time.
  bool unemptied = false;
};

}  // namespace splitlet::gc
