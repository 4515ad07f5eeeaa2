#pragma once

/// Pulls images for pods, from the sync that asks for one until the pod may go on.
/// In:      what a sync asks for (Pull, MarkUsed), the end of a pod (Forget), answers of the
///          runtime.
/// Owns:    pulls that wait for their place and token, pulls in flight, each for all pods that ask
///          for the image with the same credentials meanwhile; of each pod and image what earlier
///          pulls left: the back-off, and an answer that no sync has used yet.
/// Out:     PullImage; the events Pulling, Pulled and those of a failure; a PullResult.
/// Killed:  nothing is remembered: the next start asks again, and back-offs begin anew.
/// Threads: the loop's; no thread is held while a pull lasts.
/// Errors:  in PullResult; each is in an event already.
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
#include "libs/exec/exec.h"
#include "services/pod-worker/images/credential_providers.h"
#include "services/pod-worker/images/credentials.h"
#include "services/pod-worker/images/policy.h"
#include "services/pod-worker/images/pull_queue.h"
#include "services/pod-worker/images/pull_records.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/worker.h"
#include "services/pod-worker/runtime_config/node_info.h"

namespace splitlet::pod_worker {

/// What one incarnation of a pod asks for.
struct PullRequest {
  std::string uid;
  int64_t incarnation = 0;
  std::string image;
  Clock::Time asked;
};

struct PullResult {
  bool look_now = false;                       // containers may start
  std::map<std::string, WaitingReason> notes;  // by container, of those that waited for it in vain
  std::optional<Clock::Time> sync_at;          // what they wait for changes then
};

class ImagePuller {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    cri::Images& images;
    cri::LongCalls& long_calls;
    daemon::EventRecorder& events;
    Metrics& metrics;
    Random& random;
    const NodeInfo& node;
    PullRecords& records;
    const NodeCredentials& node_credentials;
    CredentialProviders& providers;
    /// That the pod sees; null: none.
    std::function<std::shared_ptr<const ObjectSource>(const Worker& worker)> objects;
    const Log& log;
    Duration request_timeout;
    /// The worker that waits for this pull; nullptr when its incarnation ends or is another one.
    std::function<Worker*(const PullRequest&)> waiting;
    /// Not called for a pull that nobody waits for any more.
    std::function<void(Worker&, const PullResult&)> on_pulled;
  };
  ImagePuller(Deps deps, PullQueue::Options limits)
      : deps_(std::move(deps)), queue_(deps_.clock, limits) {}

  /// Asks for the image, unless this pod waits for a pull of it already. `containers`: "" is a
  /// volume.
  void Pull(const Worker& worker, const std::string& image,
            const std::set<std::string>& containers);
  /// More containers wait for the pull of the image that this pod waits for. False: it has ended.
  bool Join(const Worker& worker, const std::string& image,
            const std::set<std::string>& containers);
  /// By image: what the next sync of the pod decides with.
  std::map<std::string, PullMemory> MemoryOf(const std::string& uid) const;
  /// At the start: what a killed process left of its pulls.
  void Settle();
  /// A sync has used the answer of the last pull: the next one asks again, but for the containers
  /// that the answer is kept for.
  void MarkUsed(const std::string& uid, const std::string& image,
                const std::set<std::string>& kept_for);
  /// These containers have the events of the back-off that runs.
  void MarkBackedOff(const std::string& uid, const std::string& image,
                     const std::set<std::string>& containers);
  /// A pod has shown credentials that are as good as those that the image was pulled with.
  void AddAccess(const ImageIdentity& image, const Credential& shown);
  /// The incarnation is over.
  void Forget(const std::string& uid) { memories_.erase(uid); }
  /// No pull begins any more, and no answer is reported.
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
  void NoteIntent(const FlightPtr& flight);
  void Ask(const FlightPtr& flight);
  void OnTried(const FlightPtr& flight, const StatusOr<std::string>& ref);
  void OnAnswer(const FlightPtr& flight, StatusOr<std::string> ref);
  void OnPulled(const FlightPtr& flight);
  void Tell(const Flight& flight, const Member& member);
  void EndIntent(const Flight& flight);
  void OnFailed(Worker& worker, const std::string& image, const Status& why,
                const std::set<std::string>& containers);

  const Deps deps_;
  PullQueue queue_;
  PullId last_id_ = 0;
  std::map<PullId, FlightPtr> flights_;  // that wait in `queue_`, or are under way
  exec::TimerId timer_ = 0;              // for the next of `queue_`
  std::map<std::string, std::map<std::string, PullMemory>> memories_;  // by UID and image
  /// By image: how many pulls are under way, and whether what one of them was to note is not on
  /// disk: then the intent stays, which says as much.
  struct Intent {
    int pulls = 0;
    bool keep = false;
  };
  std::map<std::string, Intent> intents_;
  bool stopping_ = false;
};

}  // namespace splitlet::pod_worker
