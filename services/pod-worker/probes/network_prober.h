#pragma once

/// Probes by HTTP, TCP and gRPC, so many at a time as there may be connections.
/// In:      Begin; answers of servers.
/// Owns:    calls that wait for their place.
/// Out:     requests through libs/http; no thread waits for them.
/// Killed:  connections end with the process.
/// Threads: the loop's.
/// Errors:  kError when the server was not asked; one that is not reached has failed.
/// Source:  docs/behaviour/probes.md, "One run".

#include "libs/base/cancel.h"
#include "libs/exec/exec.h"
#include "libs/http/caller.h"
#include "services/pod-worker/probes/places.h"
#include "services/pod-worker/probes/prober.h"

namespace splitlet::pod_worker {

class NetworkProber final : public Prober {
 public:
  /// One takes a descriptor and, at most, 0.2 MB.
  static constexpr size_t kAtOnce = 256;
  static constexpr size_t kMaxWaiting = 10'000;

  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    http::Caller& caller;
  };
  explicit NetworkProber(Deps deps) : deps_(deps) {}
  void Begin(const ProbeCall& call, Done done) override;
  /// All are given up, and nothing begins any more.
  void BeginStop();

 private:
  void Ask(const ProbeCall& call, const Done& done);

  const Deps deps_;
  const std::shared_ptr<CancelToken> stopped_ = std::make_shared<CancelToken>();
  Places places_{{.at_once = kAtOnce, .waiting = kMaxWaiting}};
};

}  // namespace splitlet::pod_worker
