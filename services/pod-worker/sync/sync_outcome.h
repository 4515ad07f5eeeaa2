#pragma once

/// What one sync of a pod needs, and what it leaves to be done.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Steps".

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/incarnation.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "libs/fs/file_system.h"
#include "libs/fs/read_within.h"
#include "libs/kube/pod_bytes.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/images/image_access.h"
#include "services/pod-worker/images/policy.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/pod/container_stop.h"
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/pod/post_start.h"
#include "services/pod-worker/pod/probe_results.h"
#include "services/pod-worker/pod/restarts.h"
#include "services/pod-worker/pod/user_ids.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/volumes/volume_manager.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

struct SyncDeps {
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

struct SyncInput {
  kube::ParsedPod pod;  // as granted
  RestartState restarts;
  std::map<std::string, PullMemory> pulls;  // by image
  /// Cancelled: the pod is ending; nothing more is created.
  std::shared_ptr<CancelToken> ending;
  KilledSince killed;                            // as the last sync left it
  std::string traceparent;                       // of the calls and log lines; may be empty
  std::shared_ptr<const v1::ObservedPod> known;  // what need not be asked again; may be null
  int64_t incarnation = 0;                       // the one that is synced
  cri::StartedAttempts started_attempts;         // in this incarnation
  ProbeResultsById probes;
  std::string hooked_id;               // of the container whose postStart hook is under way
  std::set<std::string> failed_hooks;  // ids of those whose hook has failed: they are stopped
  std::shared_ptr<const ObjectSource> objects;  // null: this node has none
  std::shared_ptr<const cri::PodListing>
      listing;  // shared by several pods; null: the pod is listed by itself
  std::optional<UserIds> user_ids = {};    // of its user namespace
  std::vector<std::string> host_ips = {};  // of the node; empty: not known
  bool first = false;                      // of this pod since the process started
};

/// When the pod is synced again.
enum class NextSync {
  kLater,        // something is under way or refused: its end, or `retry_at`, wakes the pod
  kImmediately,  // the next step waits for nothing
  kNotNeeded,    // nothing was to be done, and every container was started before
};

/// Why a sync failed, where the wait before the next one depends on it.
enum class SyncTrouble {
  kNone,             // or one that has the usual back-off
  kSandboxDied,      // while something was made in it; the next sync replaces it
  kNetworkNotReady,  // of the runtime
};

struct SyncOutcome {
  Status status;  // the first error
  SyncTrouble trouble = SyncTrouble::kNone;
  NextSync next = NextSync::kLater;
  std::optional<Clock::Time> retry_at;
  /// When the sync began: all incarnations, and what is lost; null when the runtime did not answer.
  std::shared_ptr<const v1::ObservedPod> seen;
  std::string terminal_phase;       // not empty: nothing of the pod will ever run again
  std::vector<ContainerStop> stop;  // to be stopped before anything else is done
  bool stop_hooks = true;           // those to be stopped have time for their preStop hooks
  /// Image -> containers that wait for it: for a pull to be begun, and for one that was under way
  /// when the sync began.
  std::map<std::string, std::set<std::string>> pulls, awaited;
  /// Waiting reasons of the considered containers; unset: the container runs, or waits for nothing.
  std::map<std::string, std::optional<WaitingReason>> waiting_reasons;
  RestartState restarts;
  cri::StartedAttempts started_attempts;
  /// Images whose pull has been used -> containers that its answer is kept for.
  std::map<std::string, std::set<std::string>> used_pulls;
  /// Images -> containers that have got the events of the back-off of their pull.
  std::map<std::string, std::set<std::string>> backed_off;
  std::vector<std::pair<ImageIdentity, Credential>> shown;  // as good as those of the pull
  KilledSince killed;
  std::optional<StartedContainer> post_start;  // its hook is to be run before anything else starts
  bool hook_over = false;                      // the container of `hooked_id` does not run any more
  bool acted = false;  // the runtime was asked to change something, whatever it answered
};

}  // namespace splitlet::pod_worker
