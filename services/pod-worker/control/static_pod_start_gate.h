#pragma once

/// Which static pod of a full name may start: a pod whose name no other pod has any more.
/// In:      the first listing of the runtime, pods that want to start, pods that have finished.
/// Owns:    leftovers: static pods found alive by the first listing, until they are seen gone.
/// Out:     inspections in the runtime, of one leftover at a time for each pod that waits.
/// Killed:  found again by the next first listing.
/// Threads: the loop's, but for the inspection.
/// Errors:  none; a leftover whose inspection fails counts as alive.
/// Source:  docs/safety.md, rule 18.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/termination/pod_runtime.h"

namespace splitlet::pod_worker {

class StaticPodStartGate {
 public:
  struct Deps {
    exec::Env env;
    const PodRuntime& runtime;
    const Workers& workers;
    PodAdvancer& pods;
  };
  explicit StaticPodStartGate(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  /// Sandboxes and containers of the first listing.
  void OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers);
  /// It was alive at the start of this process: it runs already, and waits for no pod.
  bool IsLeftover(const Worker& worker) const;
  struct Wait {
    std::string text;      // the pod that a static pod waits for; empty: it may start
    std::string leftover;  // UID of that pod where it is a leftover, which is to be inspected
  };
  Wait WaitOf(const Worker& worker) const;
  /// Advances `waiting` when the leftover is gone, or later, to inspect it again.
  void Inspect(const Worker& waiting, const std::string& leftover);
  /// The pod has finished: nothing of it is alive.
  void OnFinished(const Worker& worker);
  /// UIDs of the other pods of its full name that wait to start.
  std::vector<std::string> WaitingFor(const Worker& worker) const;

 private:
  const Worker* OtherBefore(const Worker& worker) const;
  void Forget(const std::string& full_name, const std::string& uid);

  const Deps deps_;
  std::map<std::string, std::set<std::string>> leftovers_;  // full name -> UIDs
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
