#pragma once

/// The periodic inspections of pods without a change. Inspections that are due together share one
/// listing of the whole runtime.
/// In:      Add for each pod without a change, AddNow for many at the same time, Forget for a pod
///          that is inspected for another reason; a timer, and the answers of the runtime.
/// Owns:    when the inspection of each pod is due; which pods wait for a listing; the listing
///          under way.
/// Out:     `inspect`, with what the listing shows of the pod. The listing began after the
///          inspection was asked for, and nothing of it is kept.
/// Killed:  the next start inspects every pod.
/// Threads: the loop's; the listing runs on a strand.
/// Errors:  after a listing that fails each pod is inspected by itself, and reports the error.
/// Source:  docs/safety.md, rule 17.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/observe.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/pod/pod_advancer.h"

namespace splitlet::pod_worker {

using PodListings = std::map<std::string, cri::PodListing>;  // by UID

/// The parts of the whole listing for these pods; empty for a pod that it does not show.
PodListings ByPod(cri::PodListing listed, const std::set<std::string>& uids);

/// When an inspection that is wanted after `wait` is due: together with others of the same sixth of
/// the period.
Clock::Time NextBatch(Clock::Time now, Duration wait, Duration period);

class ResyncTimer {
 public:
  struct Deps {
    exec::Env env;
    cri::Observer& observer;
    Random& random;
    Duration request_timeout;
    Duration period;    // between two inspections of a pod; up to half of it longer
    PodAdvancer& pods;  // without a listing: the pod is to be listed by itself
  };
  explicit ResyncTimer(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}
  ~ResyncTimer() { deps_.env.loop.CancelTimer(timer_); }
  ResyncTimer(const ResyncTimer&) = delete;
  ResyncTimer& operator=(const ResyncTimer&) = delete;

  /// An inspection when the period is over, instead of the one that is due.
  void Add(const std::string& uid);
  /// An inspection now; pods that are added in the same step of the loop share its listing.
  void AddNow(const std::string& uid);
  /// No inspection is due any more, and the listing under way brings none.
  void Forget(const std::string& uid);

 private:
  void Arm();
  void RunDue();
  void Await(const std::string& uid);
  void List();
  void OnListed(StatusOr<PodListings> listed);

  const Deps deps_;
  std::map<std::string, Clock::Time> due_;  // by UID
  std::map<Clock::Time, std::set<std::string>> batches_;
  std::set<std::string> waiting_;  // for the next listing
  std::set<std::string> asked_;    // of the one that is under way
  bool will_list_ = false, is_listing_ = false;
  exec::TimerId timer_ = 0;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
