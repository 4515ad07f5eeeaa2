#pragma once

/// Inspects pods and publishes what the runtime shows of each. Pods are inspected in parallel, each
/// with a deadline: a pod that hangs is not vouched for and delays no other pod.
/// In:    listings; requests of UnseenEvents; Pleg.GetPodStatus calls.
/// Owns:  the last inspection of each pod, inspections in flight, their callers, retries after an
/// error; the records of table `runtime`.
/// Out:   puts to `runtime`; the UID of a pod in which something ended, after the put.
/// Killed at any line: nothing is lost; the first listing after the start has every pod inspected.
/// Threads: loop thread only; runtime calls run on one strand for each pod.
/// Errors: in the records; the pod is inspected again with back-off.
/// Source: docs/behaviour/relist.md, "Inspection"; docs/safety.md, rules 7 and 21.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/cri/observe.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/pleg/config.h"
#include "services/pleg/events/unseen_events.h"
#include "services/pleg/inspection/pod_inspection.h"
#include "services/pleg/listing/relist.h"
#include "services/pleg/metrics.h"
#include "services/pleg/vouching/vouching.h"

namespace splitlet::v1 {
class RuntimeRecord;
}

namespace splitlet::pleg {

class Inspector final : public InspectedPods {
 public:
  using Done = std::function<void(StatusOr<std::shared_ptr<const v1::RuntimeRecord>>)>;
  struct Deps {
    exec::Env env;
    cri::Reader& reader;
    cri::TailReader read_tail;
    bus::Table<v1::RuntimeRecord>& table;
    PlegMetrics& metrics;
    const PlegConfig& config;
    Vouching& vouching;
    UnseenEvents& events;
    std::function<void(const std::string& uid)> on_changed;  // after the put
    uint64_t seed = 1;                                       // of trace ids
  };
  explicit Inspector(Deps deps);
  ~Inspector() override;
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  /// Inspects the listed pods that differ from their records, and forgets pods that are not listed.
  void Reconcile(Listing& listing);
  /// Answers with an inspection that begins after this call.
  void Ask(const std::string& uid, Done done);
  /// Puts an error record for each pod that has no record yet and is not vouched for.
  void PutMissing();
  /// UIDs of pods whose inspection takes long or ran into its deadline.
  std::vector<std::string> Stuck() const;
  Clock::Time InspectingSince(const std::string& uid) const;

  bool Contains(const std::string& uid) const override { return pods_.contains(uid); }
  void Add(const std::string& uid) override { pods_.try_emplace(uid); }
  const States* FindStates(const std::string& uid) const override;
  bool IsCurrent(const std::string& uid) const override;
  bool IsInspecting(const std::string& uid) const override;
  bool HasSandbox(const std::string& uid, const std::string& id) const override;
  void Inspect(const std::string& uid) override { Inspect(uid, nullptr); }

 private:
  struct Pod : PodInspection {
    std::string name, name_space;
    std::string traceparent;  // of the last end in the pod; empty before
    Progress progress = Progress::kIdle;
    Clock::Time inspecting_since;
    exec::TimerId later_timer = 0;              // the next inspection, without an event
    std::vector<Done> answer_now, answer_next;  // after the running inspection, after the next
  };
  static PodNames NamesOf(const std::string& uid, const Pod& pod) {
    return {.uid = uid, .name = pod.name, .name_space = pod.name_space};
  }
  using Observed = std::shared_ptr<v1::ObservedPod>;
  static constexpr size_t kMaxAskers = 100;  // of one pod

  /// `listed`: what a listing just showed of the pod, which is not listed again then; or null.
  void Inspect(const std::string& uid, cri::PodListing* listed);
  void OnInspected(const std::string& uid, const StatusOr<Observed>& observed);
  void AcceptObserved(const std::string& uid, Pod& pod, v1::ObservedPod& observed);
  void AcceptError(const std::string& uid, Pod& pod, const Status& status);
  void ReportChanges(const std::string& uid, const Pod& pod, const States& before);
  void InspectLater(const std::string& uid, Pod& pod, Duration wait);
  void Answer(const std::string& uid, Pod& pod, const Status& failed);
  void Forget(const std::string& uid, Pod& pod);
  void DropIfIdle(const std::string& uid);
  void PutRuntime(const std::string& uid, const v1::RuntimeRecord& record,
                  const std::string& traceparent);

  Deps deps_;
  const std::shared_ptr<cri::Observer> observer_;  // shared with the strands
  Random random_;
  exec::Backoff retry_wait_;  // of inspections that failed, by UID
  std::map<std::string, Pod> pods_;
  const exec::Asker asker_;
};

}  // namespace splitlet::pleg
