#pragma once

/// What runs: lists and inspects the runtime, and publishes what it finds.
/// In:    runtime events, the relist timer, Pleg.GetPodStatus and Relist calls.
/// Owns:  table `runtime`: pod UID -> sandboxes and containers as last inspected.
/// Out:   puts to `runtime`; its completeness (when the last listing began, pods not vouched for);
/// signal `pod-changed` with the UID, after the put.
/// Killed at any line: nothing is lost; the first listing after start rebuilds every record. An
/// event only makes its pod be looked at, so events may be lost, doubled or late. Pods are
/// inspected side by side, each with a deadline: one that hangs is named as not vouched for and
/// holds up nothing.
/// Threads: loop thread only; runtime calls run on strands.
/// Errors: in GetHealth and in the records.
/// Source: docs/behaviour/relist.md; docs/design.md, "Runtime events without waiting";
/// docs/safety.md, rules 7 and 21.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/pleg/config.h"
#include "services/pleg/event_feed.h"
#include "services/pleg/metrics.h"
#include "services/pleg/relist.h"

namespace splitlet::v1 {
class PlegHealth;
class RuntimeRecord;
}  // namespace splitlet::v1

namespace splitlet::pleg {

struct PlegDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  cri::Reader& reader;
  cri::TailReader read_tail;  // of termination messages and logs
  std::vector<NamedSource> sources;
  bus::Table<v1::RuntimeRecord> table;
  bus::Bus& bus;  // for the signal
  Log log;
  prometheus::Registry& metrics;
  uint64_t seed = 1;  // of trace ids
};

class PlegService {
 public:
  using PodDone = std::function<void(StatusOr<std::shared_ptr<const v1::RuntimeRecord>>)>;
  using RelistDone = std::function<void(StatusOr<Clock::Time>)>;

  PlegService(PlegDeps deps, PlegConfig config);
  ~PlegService();

  void Start();
  daemon::Health GetHealth() const;
  v1::PlegHealth GetPlegHealth() const;
  const PlegConfig& config() const { return config_; }

  /// Answers with an inspection that begins after this call.
  void OnGetPodStatus(const std::string& uid, PodDone done);
  /// Answers with the begin of a listing that begins after this call, when its pods were inspected.
  void OnRelist(RelistDone done);
  void OnContainerEvent(const cri::ContainerEvent& event);

 private:
  struct Pod {
    bool known = false;  // there is a record that was inspected
    States states;       // as in the record
    Clock::Time listed_at;
    std::string name, name_space;
    Clock::Time absent_at;    // a listing that began then did not show it
    Clock::Time differs_at;   // a listing that began then showed something else
    Status error;             // of the last inspection
    std::string traceparent;  // begins when something of the pod ends; empty before
    bool inspecting = false, again = false;
    Clock::Time inspecting_since;
    std::vector<cri::ContainerEvent> unseen;  // named by events and not shown yet
    size_t looks = 0;                         // at what is unseen
    exec::TimerId look_timer = 0;
    exec::TimerId later_timer = 0;  // when it is inspected once more, though nothing is told
    std::vector<PodDone> answer_now, answer_next;  // after the running inspection, after the next
  };
  /// Named by events, and in no pod yet.
  struct UnknownId {
    size_t listings = 0;  // since
    cri::ContainerEvent newest;
  };
  static constexpr size_t kMaxWaiting = 100;
  static constexpr size_t kMaxUnseen = 64;

  void BeginRelist();
  void RelistSoon();
  void RelistWithin(Duration delay);
  void ArmRelist(Duration delay);
  Duration CommonDelay() const;
  Duration DelayOfUnknown() const;
  void OnListed(Clock::Time began, const StatusOr<std::shared_ptr<Listing>>& listed);
  void OnListingFailed(const Status& status);
  void Reconcile(Listing& listing);
  void LookForUnknownIds();
  /// They are the pod's: what events have said of them counts from now on.
  void TakeUnknownIds(const std::string& uid, const States& ids, Pod& pod);

  /// `listed` may be null: what a listing has just shown of the pod, which is not listed again
  /// then.
  void Inspect(const std::string& uid, cri::PodListing* listed = nullptr);
  /// Looks at what an event has named: by an inspection, or by one listing for all where many wait.
  void LookForUnseen(const std::string& uid);
  bool IsShownLate(const std::string& uid, const cri::ContainerEvent& event) const;
  void AddUnseen(const std::string& uid, Pod& pod, const cri::ContainerEvent& event);
  /// `skipped`: of the waits between them.
  void BeginLooks(Pod& pod, size_t skipped);
  void OnInspected(const std::string& uid,
                   const StatusOr<std::shared_ptr<v1::ObservedPod>>& observed);
  void TakeObserved(const std::string& uid, Pod& pod, v1::ObservedPod& observed);
  void TakeError(const std::string& uid, Pod& pod, const Status& status);
  void LookAgain(const std::string& uid, Pod& pod);
  void InspectLater(const std::string& uid, Pod& pod, Duration wait);
  void Answer(const std::string& uid, Pod& pod, const Status& failed);
  void Forget(const std::string& uid, Pod& pod);
  void DropIfIdle(const std::string& uid);

  /// False: the last listing shows something else, or the last inspection failed.
  void SetVouched(const std::string& uid, bool vouched);
  void AwaitSlowOnes();
  void PutRuntime(const std::string& uid, const v1::RuntimeRecord& record,
                  const std::string& traceparent);
  void PutCompleteness();
  /// A burst is reported when its last pod is seen and a few times on the way, not with each pod.
  void PutCompletenessSoon();
  void PutSlowOnes();
  void SignalPodChanged(const std::string& uid);

  void BeginStatus();
  void OnStatus(const StatusOr<cri::RuntimeReport>& report, const StatusOr<cri::RuntimeInfo>& info);
  bool RuntimeDown() const;
  std::vector<std::string> RuntimeErrors() const;
  std::vector<std::string> Stuck() const;

  PlegDeps deps_;
  const PlegConfig config_;
  PlegMetrics metrics_;
  cri::Observer observer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // read on the loop only
  Random random_;
  exec::Backoff retry_wait_;  // of inspections that failed, by UID
  std::map<std::string, Pod> pods_;
  std::set<std::string> unvouched_;  // keys of the table
  std::set<std::string> awaited_;    // UIDs: a listing had them inspected, and soon all is known
  std::map<std::string, std::string> pod_of_;  // id of a sandbox or container -> UID
  std::map<std::string, UnknownId> unknown_ids_;
  std::set<std::string> strangers_;  // of the last listing
  std::set<std::string> unseen_;     // UIDs of pods with something unseen

  bool listing_ = false;
  std::optional<Duration> list_again_;  // after the one under way
  bool common_again_ = false;           // likewise, for many pods
  Clock::Time relist_due_;              // of the timer
  exec::TimerId relist_timer_ = 0;
  Duration listing_took_{0};
  Clock::Time last_listing_;        // when the last good one began
  std::deque<Clock::Time> recent_;  // when the last few began, good or not
  Status list_error_;
  bool complete_ = false;
  exec::TimerId slow_timer_ = 0, report_timer_ = 0;
  std::vector<RelistDone> answer_listing_, answer_next_listing_, answer_inspected_;

  Clock::Time started_;
  std::optional<Clock::Time> status_at_;  // of the last good answer
  bool was_ready_ = false;                // with its network, once
  cri::RuntimeReport report_;
  cri::RuntimeInfo info_;
  Status status_error_;
  exec::TimerId status_timer_ = 0;
  EventFeed feed_;
};

}  // namespace splitlet::pleg
