#pragma once

/// The runtime's cgroup driver, which processes that place pods in cgroups must use too.
/// Threads: any; blocks until the answer or the deadline.
/// Errors: gRPC codes, unchanged; UNIMPLEMENTED: a runtime without the call (containerd before
/// 2.0).
/// Source: CRI v1, RuntimeConfig.

#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}

namespace splitlet::cri {

/// Returns "systemd" or "cgroupfs".
StatusOr<std::string> AskCgroupDriver(const std::shared_ptr<grpc::Channel>& channel,
                                      const Clock& clock, Deadline deadline);

}  // namespace splitlet::cri
