#pragma once

/// The question that goes to config-source before each destructive act on a pod that seems to be
/// wanted no more. Threads: any; blocks until the answer or the deadline. Errors: gRPC codes;
/// UNAVAILABLE when the sources cannot say, which forbids the act. Source: DESIGN.md, rules 8 and
/// 10.

#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}

namespace splitlet::bus {

class DesiredOwner {
 public:
  virtual ~DesiredOwner() = default;
  /// Whether any source wants the pod, or has it on its way out.
  virtual StatusOr<bool> Knows(const std::string& uid, const Deadline& deadline) = 0;
};

/// `channel`: to config-source.
std::unique_ptr<DesiredOwner> MakeDesiredOwner(const Clock& clock,
                                               std::shared_ptr<grpc::Channel> channel);

}  // namespace splitlet::bus
