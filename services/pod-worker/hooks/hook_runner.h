#pragma once

/// Runs lifecycle hooks, and says how each has ended.
/// In:      Begin, from the sync and the end of a pod; answers of the runtime and of servers.
/// Owns:    the hooks under way; those that wait for their place.
/// Out:     ExecSync and HTTP without a thread; sleeps by a timer.
/// Killed:  nobody begins a hook again: see docs/safety.md, rule 19.
/// Threads: the loop's; calls begin on strands.
/// Errors:  CANCELLED when it was given up, DEADLINE_EXCEEDED when its time is over; else its
///          failure, in the words of HookMessage.
/// Source:  docs/behaviour/hooks.md.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "libs/base/cancel.h"
#include "libs/cri/long_calls.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/hooks/hook_call.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/probes/places.h"

namespace splitlet::pod_worker {

class HookRunner {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    cri::LongCalls& long_calls;
    http::Caller& http;
    Metrics& metrics;
  };
  using Done = std::function<void(const Status&)>;
  explicit HookRunner(Deps deps) : deps_(std::move(deps)) {}
  /// Of requests, which may last for hours; probes have the rest of the client's calls.
  static constexpr size_t kRequestsAtOnce = 128;
  /// Each may have 64 KiB of its answer in memory before this is read (libs/cri/exec_calls.h). A
  /// hook often does nothing but sleep, so all those of a full node run at a time.
  static constexpr size_t kCommandsAtOnce = 512;
  static constexpr size_t kMaxWaiting = 4096;

  struct Run {
    std::string container_id;
    HookCall call;
    Deadline deadline;  // with a token of its own
    std::string traceparent;
  };
  /// `done` runs on the loop, once, and not before Begin has returned; after BeginStop it does not
  /// run any more.
  void Begin(Run run, Done done);
  /// Gives all up, and begins nothing more.
  void BeginStop();

 private:
  struct UnderWay {
    std::shared_ptr<CancelToken> cancel;
    Done done;
    exec::TimerId timer = 0;
    int told = 0;             // of `cancel`
    Places* place = nullptr;  // among which it has one
  };
  void BeginOnStrand(uint64_t id, const Run& run);
  void Exec(uint64_t id, const Run& run);
  void Get(uint64_t id, const Run& run);
  void Sleep(uint64_t id, const Run& run);
  void PostEnd(uint64_t id, Status status);
  void End(uint64_t id, const Status& status);
  void GetInTheClear(uint64_t id, const Run& run, const Status& refused);

  const Deps deps_;
  Places requests_{{.at_once = kRequestsAtOnce, .waiting = kMaxWaiting}};
  Places commands_{{.at_once = kCommandsAtOnce, .waiting = kMaxWaiting}};
  std::map<uint64_t, UnderWay> under_way_;
  uint64_t last_ = 0;
  bool stopping_ = false;
};

}  // namespace splitlet::pod_worker
