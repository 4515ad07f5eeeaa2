#pragma once

/// Probes by a command in the container, so many at a time as a runtime can take.
/// In:      Begin; answers of ExecSync.
/// Owns:    calls that wait for their place.
/// Out:     ExecSync through CRI; no thread waits for it.
/// Killed:  the runtime ends the commands at their timeout; nobody waits for them.
/// Threads: the loop's.
/// Errors:  kError when the runtime could not run the command, or too many calls wait.
/// Source:  docs/behaviour/probes.md, "exec".

#include "libs/base/clock.h"
#include "libs/cri/long_calls.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/probes/places.h"
#include "services/pod-worker/probes/prober.h"

namespace splitlet::pod_worker {

/// What the end of a command says. `command` as it was run.
ProbeAnswer AnswerOfExec(const StatusOr<cri::ExecResult>& result, const ProbeCall& call);

class ExecProber final : public Prober {
 public:
  /// So many commands at a time burden a node enough. How long their answers are does not matter
  /// (libs/cri/exec_calls.h).
  static constexpr size_t kAtOnce = 32;
  static constexpr size_t kMaxWaiting = 10'000;

  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    cri::LongCalls& calls;
    Duration request_timeout;  // how long the runtime may take beside the command
  };
  explicit ExecProber(Deps deps) : deps_(deps) {}
  void Begin(const ProbeCall& call, Done done) override;
  /// Those that wait are dropped, and nothing begins any more: the runtime's client goes soon.
  void BeginStop() { places_.Close(); }

 private:
  void Run(const ProbeCall& call, const Done& done);

  const Deps deps_;
  Places places_{{.at_once = kAtOnce, .waiting = kMaxWaiting}};
};

}  // namespace splitlet::pod_worker
