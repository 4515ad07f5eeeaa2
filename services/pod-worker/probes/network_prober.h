#pragma once

/// Runs probes by HTTP, TCP and gRPC, with a bound on the connections at the same time.
/// In:      Begin; answers of servers.
/// Owns:    the probes that wait for a slot.
/// Out:     requests through libs/http; no thread waits for them.
/// Killed:  connections end with the process.
/// Threads: the loop's.
/// Errors:  kError when no request was sent. A server that cannot be reached is a failure.
/// Source:  docs/behaviour/probes.md, "One run".

#include "libs/base/cancel.h"
#include "libs/exec/exec.h"
#include "libs/exec/run_slots.h"
#include "libs/http/caller.h"
#include "services/pod-worker/probes/prober.h"

namespace splitlet::pod_worker {

class NetworkProber final : public Prober {
 public:
  /// A connection takes a descriptor and at most 0.2 MB.
  static constexpr size_t kAtOnce = 256;
  static constexpr size_t kMaxWaiting = 10'000;

  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    http::Caller& caller;
  };
  explicit NetworkProber(Deps deps) : deps_(deps) {}
  void Begin(const ProbeCall& call, Done done) override;
  /// Gives up all probes, and begins no other.
  void BeginStop();

 private:
  void Ask(const ProbeCall& call, const Done& done);

  const Deps deps_;
  const std::shared_ptr<CancelToken> stopped_ = std::make_shared<CancelToken>();
  exec::RunSlots slots_{{.at_once = kAtOnce, .waiting = kMaxWaiting}};
};

}  // namespace splitlet::pod_worker
