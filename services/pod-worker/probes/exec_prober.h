#pragma once

/// Runs probes by a command in the container, with a bound on the commands that run at the same
/// time.
/// In:      Begin; answers of ExecSync.
/// Owns:    the probes that wait for a slot.
/// Out:     ExecSync through CRI; no thread waits for it.
/// Killed:  the runtime ends the commands at their timeout.
/// Threads: the loop's.
/// Errors:  kError when the runtime could not run the command, or too many calls wait.
/// Source:  docs/behaviour/probes.md, "exec".

#include "libs/base/clock.h"
#include "libs/cri/long_calls.h"
#include "libs/exec/exec.h"
#include "libs/exec/run_slots.h"
#include "services/pod-worker/probes/prober.h"

namespace splitlet::pod_worker {

/// `call`: of the command that ended.
ProbeAnswer AnswerOfExec(const StatusOr<cri::ExecResult>& result, const ProbeCall& call);

class ExecProber final : public Prober {
 public:
  /// More commands at the same time would burden the node. The length of their answers is bounded
  /// elsewhere (libs/cri/exec_calls.h).
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
  /// Drops the probes that wait, and begins no other: the runtime's client ends soon.
  void BeginStop() { slots_.Close(); }

 private:
  void Run(const ProbeCall& call, const Done& done);

  const Deps deps_;
  exec::RunSlots slots_{{.at_once = kAtOnce, .waiting = kMaxWaiting}};
};

}  // namespace splitlet::pod_worker
