#pragma once

/// What is asked of config-source itself, where a view is not enough: before each destructive act
/// on a pod that seems to be wanted no more, and for a pod that a view does not show yet. Threads:
/// any; blocks until the answer or the deadline. Errors: gRPC codes; UNAVAILABLE when the sources
/// cannot say, which forbids the act. Source: docs/safety.md, rules 8, 10 and 14.

#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}

namespace splitlet::v1 {
class DesiredRecord;
}

namespace splitlet::bus {

class DesiredOwner {
 public:
  virtual ~DesiredOwner() = default;
  /// Whether any source wants the pod, or has it on its way out.
  virtual StatusOr<bool> Knows(const std::string& uid, const Deadline& deadline) = 0;
  /// What `desired` holds of the pod; null: nothing.
  using Record = std::shared_ptr<const v1::DesiredRecord>;
  virtual StatusOr<Record> Find(const std::string& uid, const Deadline& deadline) = 0;
};

/// `channel`: to config-source.
std::unique_ptr<DesiredOwner> MakeDesiredOwner(const Clock& clock,
                                               std::shared_ptr<grpc::Channel> channel);

}  // namespace splitlet::bus
