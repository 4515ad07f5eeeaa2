#pragma once

/// Whether a grant is for the pod that is wanted, and may run. A grant may come before the view
/// shows its pod: then config-source is asked.
/// In:      RequestHandler, for each grant that it would take.
/// Owns:    whose grant waits for config-source; one question for a pod at a time.
/// Out:     DesiredOwner.Find; the metric of refused grants; answers to refused callers.
/// Killed:  the caller gets no answer and comes again.
/// Threads: the loop's; the question runs on one of a few strands.
/// Errors:  those of CheckGrant; UNAVAILABLE where config-source does not answer.
/// Source:  docs/safety.md, rule 14.

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "libs/kube/pod_bytes.h"
#include "libs/peers/desired_owner.h"
#include "services/pod-worker/metrics/metrics.h"

namespace splitlet::v1 {
class DesiredRecord;
class UpdatePodRequest;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class GrantChecker {
 public:
  using Done = std::function<void(Status)>;
  using Asked = StatusOr<peers::DesiredOwner::Record>;
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    const bus::View<v1::DesiredRecord>& desired;
    peers::DesiredOwner& owner;
    Metrics& metrics;
    const Log& log;
  };
  explicit GrantChecker(Deps deps) : deps_(deps) {}

  enum class Step {
    kTake,
    kAsk,        // config-source has to be asked first: see Ask
    kRefused,    // for now
    kUnmanaged,  // refused: it is not the pod that `record` has
    kUnsafe,     // refused for good: the pod of `record` must not run
  };
  struct Result {
    Step step = Step::kTake;
    Status why = {};                          // of a refusal
    kube::ParsedPod pod = {};                 // as in GrantAnswer
    peers::DesiredOwner::Record record = {};  // what is wanted; null: nothing is known
  };
  struct Question {
    const v1::UpdatePodRequest& request;
    const std::string& traceparent;
    const kube::ParsedPod& pod;     // of the request
    const kube::PodBytes& granted;  // in this incarnation; empty: nothing is
    const Asked* asked = nullptr;   // the answer of config-source; null: not asked yet
  };
  Result Check(const Question& question) const;
  /// Calls `answered` on the loop; `done` where the pod is being asked for already.
  void Ask(const v1::UpdatePodRequest& request, std::function<void(const Asked&)> answered,
           const Done& done);

 private:
  const Deps deps_;
  std::set<std::string> asking_;  // UIDs
};

}  // namespace splitlet::pod_worker
