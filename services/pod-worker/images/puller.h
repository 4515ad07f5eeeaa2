#pragma once

/// Pulls images for pods, from the sync that requests a pull until the pod may go on.
/// In:      requests of syncs (Pull, Join, MarkUsed), the end of a pod (Forget), answers of the
///          runtime.
/// Owns:    pulls that wait or run, each for all pods that request the image with the same
///          credentials at that time; for each pod and image the back-off, and an answer that no
///          sync has used yet.
/// Out:     PullImage; the events Pulling, Pulled and those of a failure; a PullResult.
/// Killed:  nothing is remembered: the next start pulls again, and back-offs start again.
/// Threads: the loop's; a pull holds no thread.
/// Errors:  in PullResult; each has its event already.
/// Source:  docs/behaviour/images.md, "Pulls".

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/long_calls.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/images/credential_providers.h"
#include "services/pod-worker/images/credentials.h"
#include "services/pod-worker/images/policy.h"
#include "services/pod-worker/images/pull_queue.h"
#include "services/pod-worker/images/pull_records.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/pod/worker.h"

namespace splitlet::pod_worker {

/// The request of one incarnation of a pod.
struct PullRequest {
  std::string uid;
  int64_t incarnation = 0;
  std::string image;
  Clock::Time asked;
};

struct PullResult {
  bool sync_now = false;  // containers may start
  /// By container that waited for the failed pull.
  std::map<std::string, WaitingReason> waiting_reasons;
  std::optional<Clock::Time> sync_at;  // when a sync decides differently
};

class ImagePuller {
 public:
  struct Deps {
    exec::Env env;
    cri::Images& images;
    cri::LongCalls& long_calls;
    daemon::EventRecorder& events;
    Metrics& metrics;
    Random& random;
    const NodeInfo& node;
    PullRecords& records;
    const NodeCredentials& node_credentials;
    CredentialProviders& providers;
    /// The objects that the pod sees; null: none.
    std::function<std::shared_ptr<const ObjectSource>(const Worker& worker)> objects;
    Duration request_timeout;
    /// The worker that waits for this pull; nullptr: it terminates or has another incarnation.
    std::function<Worker*(const PullRequest&)> waiting;
    /// Not called for a pull that no worker waits for.
    std::function<void(Worker&, const PullResult&)> on_pulled;
  };
  ImagePuller(Deps deps, PullQueue::Options limits)
      : deps_(std::move(deps)), queue_(deps_.env.clock, limits) {}

  /// Requests a pull, unless this pod waits for a pull of the image already. `containers`: ""
  /// stands for a volume.
  void Pull(const Worker& worker, const std::string& image,
            const std::set<std::string>& containers);
  /// Further containers wait for the pod's pull of the image. False: that pull has ended.
  bool Join(const Worker& worker, const std::string& image,
            const std::set<std::string>& containers);
  /// By image; input of the pod's next sync.
  std::map<std::string, PullMemory> MemoryOf(const std::string& uid) const;
  /// At the start: settles the intents that a killed process left; then repeats every few minutes.
  void Settle();
  /// A sync has used the answer of the last pull. The next sync requests another pull, except for
  /// the containers that the answer is kept for.
  void MarkUsed(const std::string& uid, const std::string& image,
                const std::set<std::string>& kept_for);
  /// These containers have the events of the present back-off.
  void MarkBackedOff(const std::string& uid, const std::string& image,
                     const std::set<std::string>& containers);
  /// A pod has credentials equal to those of the image's pull.
  void AddAccess(const ImageIdentity& image, const Credential& shown);
  /// The incarnation is over.
  void Forget(const std::string& uid) { memories_.erase(uid); }
  /// Begins no other pull, and reports no other answer.
  void BeginStop() { stopping_ = true; }

 private:
  struct Member;
  struct Flight;
  using FlightPtr = std::shared_ptr<Flight>;
  void OnPrepared(const FlightPtr& flight, const Status& ready);
  bool JoinOther(const Flight& flight);
  void Listen(const FlightPtr& flight, Member& member);
  bool IsWanted(const Flight& flight) const;
  void BeginWaiting();
  void Begin(const FlightPtr& flight);
  Status Prepare(Flight& flight);
  void RecordIntent(const FlightPtr& flight);
  void Ask(const FlightPtr& flight);
  void OnTried(const FlightPtr& flight, const StatusOr<std::string>& ref);
  void OnAnswer(const FlightPtr& flight, StatusOr<std::string> ref);
  void OnPulled(const FlightPtr& flight);
  void Report(const Flight& flight, const Member& member);
  void EndIntent(const Flight& flight);
  void OnFailed(Worker& worker, const std::string& image, const Status& why,
                const std::set<std::string>& containers);

  const Deps deps_;
  PullQueue queue_;
  PullId last_id_ = 0;
  std::map<PullId, FlightPtr> flights_;  // that wait in `queue_` or run
  exec::TimerId timer_ = 0;              // for the next pull of `queue_`
  std::map<std::string, std::map<std::string, PullMemory>> memories_;  // by UID and image
  /// By image: how many pulls run. `keep`: the record of one of them could not be written, so the
  /// intent stays in its place.
  struct Intent {
    int pulls = 0;
    bool keep = false;
  };
  std::map<std::string, Intent> intents_;
  bool stopping_ = false;
};

}  // namespace splitlet::pod_worker
