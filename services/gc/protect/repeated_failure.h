#pragma once

/// Whether a failure of something that is tried again and again is worth a log line: the first one
/// is, and each one with another code than the one before. The metric counts the others.
/// Threads: those of its owner.
/// Errors: none.

#include <utility>

#include "libs/base/status.h"

namespace splitlet::gc {

class RepeatedFailure {
 public:
  /// OK ends the failure: the next one is news again.
  bool IsNews(const Status& status) {
    return std::exchange(last_, status.code()) != status.code() && !status.ok();
  }
  /// Whether there was a failure to end.
  bool End() { return std::exchange(last_, StatusCode::kOk) != StatusCode::kOk; }

 private:
  StatusCode last_ = StatusCode::kOk;
};

}  // namespace splitlet::gc
