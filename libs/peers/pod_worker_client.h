#pragma once

/// Clients of pod-worker, one for each role: sync-loop grants and kills, gc kills and holds.
/// `traceparent`: the trace of the change behind the call; may be empty.
/// Threads: strands; calls block up to their deadline.
/// Errors: gRPC codes, unchanged. Without an answer to HoldForRemoval the caller removes nothing.
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
/// Limits of sync-loop's calls at a time: grants and kills of known pods, and kills of other pods.
/// Together they are fewer than pod-worker accepts, so that gc can call too.
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
  std::vector<std::string> uids;  // pods whose directories gc wants to remove
  std::vector<std::string> container_ids, sandbox_ids;
};

/// What gc may remove. pod-worker starts none of it until the release, at most for 60 s.
struct Hold {
  std::string id;
  std::vector<std::string> uids, container_ids, sandbox_ids;
  std::vector<std::string> stopped_sandbox_ids;  // subset of sandbox_ids whose network is gone too
};

class HoldClient {
 public:
  virtual ~HoldClient() = default;
  virtual StatusOr<Hold> HoldForRemoval(const HoldWishes& wishes, Deadline deadline) = 0;
  virtual Status ReleaseHold(const std::string& hold_id, Deadline deadline) = 0;
  /// Tears down leftover volumes of a finished pod in a hold. False: a server has not answered yet.
  virtual StatusOr<bool> TakeDownVolumes(const std::string& uid, Deadline deadline) = 0;
};

/// `channel`: to pod-worker. `clock` outlives the clients.
std::unique_ptr<GrantClient> MakeGrantClient(const Clock& clock,
                                             const std::shared_ptr<grpc::Channel>& channel);
std::unique_ptr<KillClient> MakeKillClient(const Clock& clock,
                                           const std::shared_ptr<grpc::Channel>& channel);
std::unique_ptr<HoldClient> MakeHoldClient(const Clock& clock,
                                           const std::shared_ptr<grpc::Channel>& channel);

}  // namespace splitlet::peers
