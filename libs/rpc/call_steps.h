#pragma once

/// Shows ThreadSanitizer the order of a call's steps. gRPC runs them one after the other, on any of
/// its threads, but Debian's library is not instrumented. Costs nothing without that sanitizer.
/// Threads: any.

#ifdef SPLITLET_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace splitlet::rpc {

class CallSteps {
 public:
  /// Call it when a step begins, and after the last write of a step that another may follow.
  void Next() {
#ifdef SPLITLET_TSAN
    __tsan_acquire(this);
    __tsan_release(this);
#endif
  }
};

}  // namespace splitlet::rpc
