#pragma once

/// One sync of one pod: looks at the runtime, decides, and does what can be done now. Never waits
/// for a container to stop or an image to come: those are handed back to the caller, who does them
/// and asks for another sync.
/// Threads: any, one sync per pod at a time; Run blocks.
/// Errors:  in the outcome; each is in an event already.
/// Source:  docs/behaviour/pod-sync.md, "Steps"; docs/safety.md, rules 16 and 17.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/cri/cri.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "libs/fs/file_system.h"
#include "libs/fs/read_within.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/images/image_access.h"
#include "services/pod-worker/images/policy.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/pod/container_stop.h"
#include "services/pod-worker/pod/post_start.h"
#include "services/pod-worker/pod/probe_results.h"
#include "services/pod-worker/pod/restarts.h"
#include "services/pod-worker/pod/user_ids.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/runtime_config/node_info.h"
#include "services/pod-worker/sync/plan/actions.h"
#include "services/pod-worker/volumes/volume_manager.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

struct SyncInput {
  std::string pod;  // serialised, as granted
  RestartState restarts;
  std::map<std::string, PullMemory> pulls;  // by image
  /// Cancelled: the pod is ending; nothing more is created.
  std::shared_ptr<CancelToken> ending;
  KilledSince killed;                            // as the last sync left it
  std::string traceparent;                       // of the calls and log lines; may be empty
  std::shared_ptr<const v1::ObservedPod> known;  // what need not be asked again; may be null
  int64_t incarnation = 0;                       // the one that is synced
  cri::Begun started_attempts;                   // in this incarnation
  ProbeResultsById probes;
  std::string hooked_id;               // of the container whose postStart hook is under way
  std::set<std::string> failed_hooks;  // ids of those whose hook has failed: they are stopped
  std::shared_ptr<const ObjectSource> objects;     // null: this node has none
  std::shared_ptr<const cri::PodListing> listing;  // of this look; null: the pod is listed for it
  std::optional<UserIds> user_ids = {};            // of its user namespace
  std::vector<std::string> host_ips = {};          // of the node; empty: not known
  bool first = false;                              // of this pod since the process started
};

struct SyncOutcome {
  Status status;                                // the first error
  std::shared_ptr<const v1::ObservedPod> seen;  // at the begin, of all incarnations, and what is
                                                // lost; null when the runtime did not say
  std::string terminal_phase;                   // not empty: nothing of the pod will ever run again
  std::vector<ContainerStop> stop;              // to be stopped before anything else is done
  /// Image -> containers that wait for it: for a pull to be begun, and for one that was under way
  /// when the sync began.
  std::map<std::string, std::set<std::string>> pulls, awaited;
  std::map<std::string, std::optional<WaitingReason>>
      notes;  // of the containers looked at; unset: it runs
  RestartState restarts;
  cri::Begun started_attempts;
  /// Images whose pull has been used -> containers that its answer is kept for.
  std::map<std::string, std::set<std::string>> used_pulls;
  /// Images -> containers that have got the events of the back-off of their pull.
  std::map<std::string, std::set<std::string>> backed_off;
  std::vector<std::pair<ImageIdentity, Credential>> shown;  // as good as those of the pull
  KilledSince killed;
  std::optional<Clock::Time> retry_at;
  std::optional<StartedContainer> post_start;  // its hook is to be run before anything else starts
  bool hook_over = false;                      // the container of `hooked_id` does not run any more
  bool unhooked = false;      // what is to be stopped has no time for its preStop hooks
  bool again = false;         // the next step waits for nothing: look again at once
  bool sandbox_died = false;  // while something was made in it; the next look replaces it
  bool acted = false;         // the runtime was asked to change something, whatever it answered
  bool settled = false;       // nothing was to be done, and every container was started before
  bool network_not_ready = false;
  bool waits_for_volumes = false;  // which are under way: the next look comes when they have ended
};

class PodSync {
 public:
  struct Deps {
    cri::Reader& reader;
    cri::Observer& observer;
    cri::Runner& runner;
    cri::Remover& remover;
    cri::Images& images;
    fs::FileSystem& files;
    VolumeManager& volumes;
    const PodCgroups& cgroups;
    const fs::WithinReader& read_within;  // what containers have written
    const DiskRecords& records;
    const PullRecords& pull_records;
    const AccessPolicy& access_policy;
    const Clock& clock;
    const NodeInfo& node;
    daemon::EventRecorder& events;
    Metrics& metrics;
    const Log& log;
    Duration request_timeout;
  };
  explicit PodSync(Deps deps) : deps_(deps) {}
  SyncOutcome Run(const SyncInput& input) const;

 private:
  Deps deps_;
};

}  // namespace splitlet::pod_worker
