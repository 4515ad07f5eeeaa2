#pragma once

/// The API status of each pod: computed from four views, put when it differs.
/// In:    StatusService passes on changes of `desired`, `admission`, `workers` and `runtime`, and
///        a pass over all pods every 10 s.
/// Owns:  the pod records of table `podstatus`; when each was put; which pods must be computed
///        again or wait for a listing of the runtime.
/// Out:   puts to `podstatus`.
/// Killed at any line: nothing is lost; the next start computes every record again.
/// Threads: loop thread only.
/// Errors: a failed put is counted and logged; the next pass repeats it.
/// Source: docs/safety.md, rules 20 to 22.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/kube/pod_types.h"
#include "services/status/metrics.h"
#include "services/status/pods/first_status.h"
#include "services/status/pods/mirror_index.h"
#include "services/status/pods/refresh_plan.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class StatusTable {
 public:
  struct Deps {
    exec::Env env;
    bus::Table<v1::PodStatusRecord>& table;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::AdmissionRecord>& admission;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::RuntimeRecord>& runtime;
    const std::vector<std::string>& addresses;  // of the node; follows its changes
    const v1::NodeFeatures& features;           // of the runtime; follows its changes
    StatusMetrics& metrics;
    bool sandbox_condition = true;  // pods have the condition PodReadyToStartContainers
    /// Called after a record was put or removed. Optional.
    std::function<void(const std::string& key)> on_published = nullptr;
    /// Optional.
    std::function<void(std::vector<v1::EventRecord>)> record_events = nullptr;
  };
  /// For `worker_wait` after the start, statuses wait for pod-worker and its flags.
  StatusTable(const Deps& deps, Duration worker_wait);
  StatusTable(const StatusTable&) = delete;
  StatusTable& operator=(const StatusTable&) = delete;

  void Start();
  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change);
  void OnViewState();
  void OnRuntimeState();
  void OnReconcile();
  /// Marks a pod, or all pods: they are computed again in this turn of the loop.
  void MarkChanged(const std::string& key, const std::string& traceparent);
  void MarkAll();
  /// Computes every record again, now.
  void Flush();
  /// `desired` was live once, and `workers` was too or the start is `worker_wait` ago.
  bool MayPublish() const;
  /// Computes the status from the records of this moment, and puts it if it differs. NOT_FOUND:
  /// the pod is not wanted here. UNAVAILABLE: the views were not live yet.
  StatusOr<std::unique_ptr<v1::PodStatusRecord>> RefreshAndGet(const std::string& uid);

 private:
  struct Known {
    Clock::Time put_at;
    std::string phase;
    std::vector<std::string> waiting;  // reasons of its containers, as counted
    bool pending_resize = false;       // as counted
    std::string traceparent;           // of the last change that had one
  };

  /// All records of one pod, as they are while its status is computed.
  struct Records;
  /// A status that was computed from Records.
  struct Computed;

  /// The start is `worker_wait` ago: no longer wait for a process that is away.
  bool WaitedLong() const;
  /// The table was complete once. Before that, a pod without a record is unknown.
  bool KnowsWorkers() const;
  bool KnowsRuntime() const;
  bool KnowsAdmissions() const;
  void FlushSoon();
  void FlushChanged();
  void Refresh(const std::string& key);
  /// Nothing: no status can be computed of this pod, and its last one stands.
  std::optional<Records> ReadRecords(const std::string& key) const;
  bool WaitsForFirst(const std::string& key, const Records& records) const;
  Computed Compute(const std::string& key, Records& records) const;
  void PutIfChanged(const std::string& key, const Records& records, const Computed& computed);
  /// The status that the mirror pod of a static pod shows; nothing: it has no mirror pod.
  std::optional<kube::PodStatus> MirrorStatusOf(const kube::Pod& pod) const;
  void PutPodStatus(const std::string& key, const v1::PodStatusRecord* before,
                    v1::PodStatusRecord record);
  void CountChange(const v1::PodStatusRecord& record, const kube::PodStatus* before,
                   const kube::PodStatus& after);
  /// Counts the pod by phase and its waiting containers by reason.
  void CountPod(const std::string& key, const kube::PodStatus& status);
  void ReportResize(const v1::DesiredRecord& desired);
  /// A complete listing vouches for the pod, and began after our last put and the worker's last
  /// action.
  bool ListingCovers(const std::string& key, const v1::WorkerRecord* worker) const;
  void RemovePod(const std::string& key, const std::string& traceparent);
  void SetCompleteOnce();

  Deps deps_;
  Duration worker_wait_;
  Clock::Time started_at_;
  std::map<std::string, Known> known_;
  MirrorIndex mirrors_;
  std::set<std::string> changed_;
  std::set<std::string> await_listing_;  // the runtime shows less of the pod than its status
  bool flush_posted_ = false;
  SeenTables seen_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
