#pragma once

/// Tells ThreadSanitizer that gRPC runs the steps of a call one after the other, on any of its
/// threads: what orders them lies in Debian's library, which is not instrumented. Without that
/// sanitizer it costs nothing.
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
