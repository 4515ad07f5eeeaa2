#pragma once

/// config-source as pod-worker asks it before it ends a pod because no source seems to want it.
/// Threads: any; blocks. Errors: UNAVAILABLE when the sources cannot say, which forbids the act.
/// Source: DESIGN.md, rules 8 and 10.

#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}

namespace splitlet::pod_worker {

inline constexpr Duration kAskOwner = std::chrono::seconds{5};

class DesiredOwner {
 public:
  virtual ~DesiredOwner() = default;
  virtual StatusOr<bool> Knows(const std::string& uid, const Deadline& deadline) = 0;
};

std::unique_ptr<DesiredOwner> MakeConfigSourceClient(const Clock& clock,
                                                     std::shared_ptr<grpc::Channel> channel);

}  // namespace splitlet::pod_worker
