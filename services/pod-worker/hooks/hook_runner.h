#pragma once

/// Runs lifecycle hooks, and reports how each ended.
/// In:      Begin, from the sync and the termination of a pod; answers of the runtime and of
///          servers.
/// Owns:    the hooks that run or wait for a slot.
/// Out:     ExecSync and HTTP requests that hold no thread; timers for sleeps.
/// Killed:  a hook that was begun is not begun again: docs/safety.md, rule 19.
/// Threads: the loop's; calls begin on strands.
/// Errors:  CANCELLED: the hook was given up. DEADLINE_EXCEEDED: its time is over. Else its
///          failure, in the words of HookMessage.
/// Source:  docs/behaviour/hooks.md.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "libs/base/cancel.h"
#include "libs/cri/long_calls.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/run_slots.h"
#include "services/pod-worker/hooks/hook_call.h"
#include "services/pod-worker/metrics/metrics.h"

namespace splitlet::pod_worker {

class HookRunner {
 public:
  struct Deps {
    exec::Env env;
    cri::LongCalls& long_calls;
    http::Caller& http;
    Metrics& metrics;
  };
  using Done = std::function<void(const Status&)>;
  explicit HookRunner(Deps deps) : deps_(std::move(deps)) {}
  /// Requests may last for hours; probes get the other calls of the HTTP client.
  static constexpr size_t kRequestsAtOnce = 128;
  /// A command may hold 64 KiB of its answer in memory before pod-worker reads the answer
  /// (libs/cri/exec_calls.h). Many hooks only sleep, so all hooks of a full node run at the same
  /// time.
  static constexpr size_t kCommandsAtOnce = 512;
  static constexpr size_t kMaxWaiting = 4096;

  struct Run {
    std::string container_id;
    HookCall call;
    Deadline deadline;  // with its own token
    std::string traceparent;
  };
  /// `done` runs on the loop, once, after Begin has returned. After BeginStop it does not run.
  void Begin(Run run, Done done);
  /// Gives up all hooks, and begins no other.
  void BeginStop();

 private:
  struct UnderWay {
    std::shared_ptr<CancelToken> cancel;
    Done done;
    exec::TimerId timer = 0;
    int cancel_id = 0;                // of the callback in `cancel`; 0: none
    exec::RunSlots* slots = nullptr;  // in which it holds a slot; null: it holds none
  };
  void BeginOnStrand(uint64_t id, const Run& run);
  void Exec(uint64_t id, const Run& run);
  void Get(uint64_t id, const Run& run);
  void Sleep(uint64_t id, const Run& run);
  void PostEnd(uint64_t id, Status status);
  void End(uint64_t id, const Status& status);
  void GetInTheClear(uint64_t id, const Run& run, const Status& refused);

  const Deps deps_;
  exec::RunSlots requests_{{.at_once = kRequestsAtOnce, .waiting = kMaxWaiting}};
  exec::RunSlots commands_{{.at_once = kCommandsAtOnce, .waiting = kMaxWaiting}};
  std::map<uint64_t, UnderWay> under_way_;
  uint64_t last_ = 0;
  bool stopping_ = false;
};

}  // namespace splitlet::pod_worker
