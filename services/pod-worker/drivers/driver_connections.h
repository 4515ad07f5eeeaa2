#pragma once

/// The connections to CSI drivers by gRPC.
/// In:      Connect for each registration of a driver; Stop at the end of the process.
/// Owns:    weak references to the connections. A connection ends on the loop when its last user is
///          gone, because its end waits for its calls, whose callbacks may be that user.
/// Threads: Connect on the loop; Stop on any thread, when Connect is not called any more.
/// Errors:  none; those of calls are GrpcDriver's.
/// Source:  libs/csi/grpc_driver.h.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/csi/grpc_driver.h"
#include "libs/exec/exec.h"

namespace splitlet::pod_worker {

class DriverConnections {
 public:
  /// The loop outlives the connections.
  DriverConnections(const Clock& clock, exec::EventLoop& loop) : clock_(clock), loop_(loop) {}

  /// `on_end` runs on any thread, for each call.
  std::shared_ptr<csi::DriverCalls> Connect(const std::string& socket_path,
                                            std::function<void(const csi::CallEnd&)> on_end);
  /// Waits until all calls have ended; later ones are CANCELLED.
  void Stop();

 private:
  const Clock& clock_;
  exec::EventLoop& loop_;
  std::vector<std::weak_ptr<csi::GrpcDriver>> connections_;
};

}  // namespace splitlet::pod_worker
