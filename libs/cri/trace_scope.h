#pragma once

/// The trace that CRI calls of a thread belong to.
/// Threads: each has its own scopes.

#include <string>

namespace splitlet::cri {

/// While the object exists, CRI calls of this thread carry this traceparent. Scopes nest.
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
