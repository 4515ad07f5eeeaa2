#pragma once

/// pod-worker as others call it, a role for each: sync-loop grants and kills, gc kills and holds.
/// `traceparent`: of the change that the call is about; may be empty.
/// Threads: strands; calls block up to their deadline.
/// Errors: gRPC codes, unchanged; no answer to HoldForRemoval means no act.
/// Source: ARCHITECTURE.md, "A pod's way"; docs/safety.md, rule 25.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}
namespace splitlet::v1 {
class KillPodRequest;
class UpdatePodRequest;
}  // namespace splitlet::v1

namespace splitlet::peers {

/// How long sync-loop waits for an answer.
inline constexpr Duration kGrantTimeout = std::chrono::seconds{10};
/// Calls of sync-loop under way at most: grants and kills of pods that it knows, and kills of
/// others. Fewer than pod-worker takes at once, so that gc finds a place.
inline constexpr size_t kGrantsAtOnce = 12;
inline constexpr size_t kOrphanKillsAtOnce = 3;

class KillClient {
 public:
  virtual ~KillClient() = default;
  virtual Status KillPod(const v1::KillPodRequest& request, const Deadline& deadline,
                         const std::string& traceparent) = 0;
};

class GrantClient : public KillClient {
 public:
  virtual Status UpdatePod(const v1::UpdatePodRequest& request, const Deadline& deadline,
                           const std::string& traceparent) = 0;
};

struct HoldWishes {
  std::string request_id;
  std::vector<std::string> uids;  // pods whose directories are to go
  std::vector<std::string> container_ids, sandbox_ids;
};

/// What may go, of what was asked; nothing of it is started before the release or 60 s.
struct Hold {
  std::string id;
  std::vector<std::string> uids, container_ids, sandbox_ids;
  std::vector<std::string> stopped_sandbox_ids;  // of sandbox_ids; the network went with them
};

class HoldClient {
 public:
  virtual ~HoldClient() = default;
  virtual StatusOr<Hold> HoldForRemoval(const HoldWishes& wishes, Deadline deadline) = 0;
  virtual Status ReleaseHold(const std::string& hold_id, Deadline deadline) = 0;
  /// Takes down what is left of the volumes of a pod that is over and that a hold names. False: a
  /// server is waited for.
  virtual StatusOr<bool> TakeDownVolumes(const std::string& uid, Deadline deadline) = 0;
};

/// `channel`: to pod-worker. `clock` outlives them.
std::unique_ptr<GrantClient> MakeGrantClient(const Clock& clock,
                                             const std::shared_ptr<grpc::Channel>& channel);
std::unique_ptr<KillClient> MakeKillClient(const Clock& clock,
                                           const std::shared_ptr<grpc::Channel>& channel);
std::unique_ptr<HoldClient> MakeHoldClient(const Clock& clock,
                                           const std::shared_ptr<grpc::Channel>& channel);

}  // namespace splitlet::peers
