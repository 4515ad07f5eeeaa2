#pragma once

/// Runs a probe once.
/// Threads: Begin from the loop's; `done` is called once, on any thread, also before Begin returns;
///          it must not block.
/// Errors:  in the answer.
/// Units:   Duration.
/// Source:  docs/behaviour/probes.md, "One run".

#include <functional>
#include <string>

#include "services/pod-worker/probes/probe.h"

namespace splitlet::pod_worker {

struct ProbeCall {
  std::string container_id;
  ProbeAction action;
  Duration timeout{0};  // from the start of the run, without the wait for a slot
  bool slow = false;    // the last run was; see exec::RunSlots
};

class Prober {
 public:
  using Done = std::function<void(ProbeAnswer)>;
  virtual ~Prober() = default;
  virtual void Begin(const ProbeCall& call, Done done) = 0;
};

}  // namespace splitlet::pod_worker
