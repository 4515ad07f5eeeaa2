#pragma once

/// Long calls over a blocking runtime, for tests and the simulation: each call runs on a fake
/// strand of the calling process, so that the process can be killed before the answer.
/// Threads: any.
/// Errors: as LongCalls.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "libs/cri/long_calls.h"
#include "libs/cri/trace_scope.h"
#include "libs/exec/exec.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {

class StrandedCalls final : public LongCalls {
 public:
  /// For a runtime with all roles.
  template <class Runtime>
  StrandedCalls(Runtime& runtime, exec::Strands& strands)
      : StrandedCalls(runtime, runtime, strands) {}
  /// With another runner in front of the runtime.
  template <class Runtime>
  StrandedCalls(Runner& runner, Runtime& runtime, exec::Strands& strands)
      : runner_(runner), images_(runtime), exec_(runtime), strands_(strands) {}

  void BeginStopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline,
                          Stopped done) override {
    Run([this, id, grace_seconds, deadline = std::move(deadline), done = std::move(done)] {
      done(runner_.StopContainer(id, grace_seconds, deadline));
    });
  }
  void BeginPullImage(const PullOrder& order, Deadline deadline, Pulled done) override {
    std::optional<runtime::v1::AuthConfig> auth;
    if (order.auth != nullptr) auth = *order.auth;
    Run([this, image = order.image, config = order.sandbox_config, auth,
         deadline = std::move(deadline), done = std::move(done)] {
      done(images_.PullImage(image, auth ? &*auth : nullptr, config, deadline));
    });
  }
  void BeginExecSync(const ContainerId& id, const ExecCommand& command, Deadline deadline,
                     Executed done) override {
    Run([this, id, command, deadline = std::move(deadline), done = std::move(done)] {
      done(exec_.ExecSync(id, command, deadline));
    });
  }

 private:
  void Run(exec::Task call) {
    strands_.Run("runtime/" + std::to_string(++last_),
                 [trace = TraceScope::Current(), call = std::move(call)] {
                   const TraceScope scope(trace);
                   call();
                 });
  }
  Runner& runner_;
  Images& images_;
  Exec& exec_;
  exec::Strands& strands_;
  std::atomic<uint64_t> last_{0};
};

}  // namespace splitlet::cri
