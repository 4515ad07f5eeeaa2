#pragma once

/// The trace of the CRI calls of a thread.
/// Threads: each has its own scopes.

#include <string>

namespace splitlet::cri {

/// During the object's lifetime, CRI calls of this thread carry its traceparent. Scopes nest.
class TraceScope {
 public:
  explicit TraceScope(std::string traceparent);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  /// "" outside of all scopes.
  static const std::string& Current();

 private:
  std::string before_;
};

}  // namespace splitlet::cri
