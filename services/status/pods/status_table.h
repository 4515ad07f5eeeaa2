#pragma once

/// The API status of each pod: computed from four views, put when it differs.
/// In:    changes of `desired`, `admission`, `workers` and `runtime`, and a pass over everything
/// each 10 s, from StatusService.
/// Owns:  the records of pods in table `podstatus`; what was put when; which pods are to be
/// computed again or wait for a listing.
/// Out:   puts to `podstatus`.
/// Killed at any line: nothing is lost; the next start computes every record again.
/// Threads: loop thread only.
/// Errors: a record that cannot be put is counted and logged, and put with the next pass.
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
#include "libs/exec/exec.h"
#include "libs/kube/pod_types.h"
#include "services/status/metrics.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class StatusTable {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    bus::Table<v1::PodStatusRecord>& table;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::AdmissionRecord>& admission;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::RuntimeRecord>& runtime;
    const std::vector<std::string>& addresses;  // of the node, now
    const v1::NodeFeatures& features;           // of the runtime, now
    StatusMetrics& metrics;
    const Log& log;
    bool sandbox_condition = true;  // pods have the condition PodReadyToStartContainers
    /// A record was put or removed; may be left out.
    std::function<void(const std::string& key)> on_published = nullptr;
    /// May be left out.
    std::function<void(std::vector<v1::EventRecord>)> record_events = nullptr;
  };
  /// After `worker_wait` without pod-worker statuses are put without its flags.
  StatusTable(const Deps& deps, Duration worker_wait);
  ~StatusTable();
  StatusTable(const StatusTable&) = delete;
  StatusTable& operator=(const StatusTable&) = delete;

  void Start();
  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change);
  void OnViewState();
  void OnRuntimeState();
  void OnReconcile();
  /// One pod, or all of them, are computed again in this turn of the loop.
  void MarkChanged(const std::string& key, const std::string& traceparent);
  void MarkAll();
  /// Computes every record again, now.
  void Flush();
  /// `desired` and `workers` were live once, or pod-worker has been away for long.
  bool MayPublish() const;
  /// Computed from what is known now. NOT_FOUND for a pod that is not wanted here; UNAVAILABLE
  /// before the views were live once.
  StatusOr<std::unique_ptr<v1::PodStatusRecord>> Get(const std::string& uid);

 private:
  struct Known {
    Clock::Time put_at;
    std::string phase;
    std::vector<std::string> waiting;  // reasons of its containers, as counted
    bool pending_resize = false;       // as counted
    std::string traceparent;           // of the last change that had one
  };

  /// Since the start, so that nobody waits any more for a process that is away.
  bool WaitedLong() const;
  /// It was complete once. Before, a pod without record is unknown.
  bool KnowsWorkers() const;
  bool KnowsRuntime() const;
  bool KnowsAdmissions() const;
  /// Too little for a first status of a pod: it would take back what was shown before the start.
  bool KnowsTooLittle(const std::string& key, const v1::DesiredRecord& desired) const;
  void FlushSoon();
  void FlushChanged();
  void Refresh(const std::string& key);
  /// Of a static pod, as its mirror pod shows it; nothing: it has none.
  std::optional<kube::PodStatus> MirrorStatusOf(const kube::Pod& pod) const;
  void PutPodStatus(const std::string& key, const v1::PodStatusRecord* before,
                    v1::PodStatusRecord record);
  void CountChange(const v1::PodStatusRecord& record, const kube::PodStatus* before,
                   const kube::PodStatus& after);
  /// Counts the pod by phase and its containers by what they wait for.
  void SetSeen(const std::string& key, const kube::PodStatus& status);
  void ReportResize(const v1::DesiredRecord& desired);
  bool ListingCovers(const std::string& key, const v1::WorkerRecord* worker) const;
  /// Refused, and certain to have no grant; what was shown once stands.
  bool IsRejected(const std::string& key, const v1::AdmissionRecord* admission,
                  const v1::WorkerRecord* worker, const kube::PodStatus* previous) const;
  void RemovePod(const std::string& key, const std::string& traceparent);
  void SetCompleteOnce();

  Deps deps_;
  Duration worker_wait_;
  Clock::Time started_at_;
  std::map<std::string, Known> known_;
  std::set<std::string> changed_;
  std::set<std::string> await_listing_;  // a container, or all of the pod, is unseen
  bool flush_posted_ = false;
  bool could_publish_ = false;
  bool workers_were_live_ = false;
  bool workers_were_complete_ = false;
  bool admissions_are_known_ = false, admissions_were_known_ = false;
  bool runtime_was_complete_ = false;
  std::shared_ptr<bool> alive_;
};

}  // namespace splitlet::status
