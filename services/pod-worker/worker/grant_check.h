#pragma once

/// Whether a grant may be taken: only for the pod that config-source wants, in the same
/// incarnation.
/// Threads: pure functions, any.
/// Errors:  as GrantAnswer says.
/// Source:  docs/safety.md, rule 14.

#include <cstdint>
#include <string>

#include "libs/base/status.h"

namespace splitlet::v1 {
class DesiredRecord;
class UpdatePodRequest;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

struct GrantAnswer {
  enum class Kind {
    kTake,
    kAsk,      // the record is none, or older than the grant: another may say more
    kRefuse,   // the grant is of another incarnation or generation: sync-loop sees so soon
    kForeign,  // not the pod that config-source wants: nobody may start it
  };
  Kind kind = Kind::kTake;
  Status why;  // not OK unless kTake
};

/// `record`: what `desired` holds of the UID; nullptr: nothing.
GrantAnswer CheckGrant(const v1::UpdatePodRequest& request, const v1::DesiredRecord* record);

/// Are these two, serialised, the same pod but for its status and for what its containers are given
/// of the node's resources?
bool SameButResources(const std::string& pod, const std::string& other);

}  // namespace splitlet::pod_worker
