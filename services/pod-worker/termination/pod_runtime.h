#pragma once

/// The container runtime as far as one pod goes: inspects the pod, stops one container, or stops
/// its sandboxes and inspects what is left.
/// Threads: any; calls block, but for the stop of a container, which may last its grace and longer.
/// Errors:  the runtime's; what is gone is OK.
/// Source:  docs/behaviour/termination.md, "Order of stops".

#include <memory>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/cri/cri.h"
#include "libs/cri/long_calls.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "services/pod-worker/pod/container_stop.h"
#include "services/pod-worker/pod/events.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

class PodRuntime {
 public:
  struct Deps {
    cri::Observer& observer;
    cri::Runner& runner;
    cri::LongCalls& long_calls;
    const Clock& clock;
    daemon::EventRecorder& events;
    Duration request_timeout;
  };
  explicit PodRuntime(Deps deps) : deps_(deps) {}

  /// `known`: an earlier inspection, as for cri::Observer; null: everything is asked for.
  StatusOr<v1::ObservedPod> Inspect(const std::string& uid,
                                    const v1::ObservedPod* known = nullptr) const;
  /// Does not block; `done` is called once, on any thread. CANCELLED through `cancel`: the signal
  /// was sent, and the container may still run. ABORTED: the signal was not sent.
  struct OneStop {
    ContainerStop container;
    int64_t grace_seconds = 0;
    std::shared_ptr<CancelToken> cancel;
  };
  void BeginStopContainer(const PodRef& pod, const OneStop& stop,
                          cri::LongCalls::Stopped done) const;
  /// Stops the sandboxes and returns what is left. `only`: these ids; empty: all. `before` lends
  /// what the runtime no longer shows of a stopped sandbox: addresses, and containers that went
  /// away.
  StatusOr<v1::ObservedPod> StopSandboxes(const v1::ObservedPod& before,
                                          const std::vector<std::string>& only) const;

 private:
  Deps deps_;
};

}  // namespace splitlet::pod_worker
