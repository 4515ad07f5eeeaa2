#pragma once

/// The regular looks at quiet pods. Those that are wanted together are answered by one listing of
/// the whole runtime, where each would list its own pod.
/// In:      Add for each pod that is quiet, AddNow for many at once, Forget for one that is looked
///          at for another reason; a timer, and the answers of the runtime.
/// Owns:    when the look at each pod is due; which pods wait for a listing; the one that is under
///          way.
/// Out:     look, with what the listing shows of the pod. The listing began after the look was
///          asked for, and nothing of it is kept.
/// Killed:  the next start looks at every pod.
/// Threads: the loop's; the listing runs on a strand.
/// Errors:  a listing that fails leaves each pod to a look of its own, which says why.
/// Source:  docs/safety.md, rule 17.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/observe.h"
#include "libs/exec/exec.h"

namespace splitlet::pod_worker {

using PodListings = std::map<std::string, cri::PodListing>;  // by UID

/// What the whole listing shows of these pods; one that it does not show has an empty one.
PodListings ByPod(cri::PodListing listed, const std::set<std::string>& uids);

/// When a look that is wanted after `wait` is due: together with those of the same sixth of the
/// period.
Clock::Time NextBatch(Clock::Time now, Duration wait, Duration period);

class ResyncTimer {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    cri::Observer& observer;
    Random& random;
    Duration request_timeout;
    Duration period;  // between two looks at a pod; up to half of it longer
    /// `listing` is null for one that is to be listed by itself.
    std::function<void(const std::string& uid, std::shared_ptr<const cri::PodListing> listing)>
        inspect;
  };
  explicit ResyncTimer(Deps deps) : deps_(std::move(deps)) {}
  ~ResyncTimer() { deps_.loop.CancelTimer(timer_); }
  ResyncTimer(const ResyncTimer&) = delete;
  ResyncTimer& operator=(const ResyncTimer&) = delete;

  /// A look when the period is over, in place of the one that is due.
  void Add(const std::string& uid);
  /// A look at once; those that are added in the same step of the loop share it.
  void AddNow(const std::string& uid);
  /// No look is due any more, and none is made of a listing that is under way.
  void Forget(const std::string& uid);

 private:
  void Arm();
  void RunDue();
  void Await(const std::string& uid);
  void List();
  void OnListed(const StatusOr<std::shared_ptr<PodListings>>& listed);

  const Deps deps_;
  std::map<std::string, Clock::Time> due_;  // by UID
  std::map<Clock::Time, std::set<std::string>> batches_;
  std::set<std::string> waiting_;  // for the next listing
  std::set<std::string> asked_;    // of the one that is under way
  bool will_list_ = false, is_listing_ = false;
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::pod_worker
