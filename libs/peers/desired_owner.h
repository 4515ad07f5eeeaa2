#pragma once

/// Asks config-source when a view is not enough: before each destructive act on a pod that seems
/// unwanted, and for a pod that is missing in the view. Any thread; blocks up to the deadline.
/// Errors: gRPC codes; UNAVAILABLE: the sources are not complete, which forbids the act.
/// Source: docs/safety.md, rules 8, 10 and 14.

#include <memory>
#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}

namespace splitlet::v1 {
class DesiredRecord;
}

namespace splitlet::peers {

/// Metadata of the call: the source that must be complete for an answer. If it is absent, or names
/// no configured source, all sources must be complete.
inline constexpr std::string_view kSourceMetadata = "splitlet-source";

class DesiredOwner {
 public:
  virtual ~DesiredOwner() = default;
  /// True if any source wants the pod or its removal is not finished. `source`: only this source,
  /// from which the pod came, must be complete; empty: all must be.
  virtual StatusOr<bool> Knows(const std::string& uid, const std::string& source,
                               const Deadline& deadline) = 0;
  StatusOr<bool> Knows(const std::string& uid, const Deadline& deadline) {
    return Knows(uid, "", deadline);
  }
  /// The pod's record in `desired`; null: none.
  using Record = std::shared_ptr<const v1::DesiredRecord>;
  virtual StatusOr<Record> Find(const std::string& uid, const Deadline& deadline) = 0;
};

/// `channel`: to config-source.
std::unique_ptr<DesiredOwner> MakeDesiredOwner(const Clock& clock,
                                               std::shared_ptr<grpc::Channel> channel);

}  // namespace splitlet::peers
