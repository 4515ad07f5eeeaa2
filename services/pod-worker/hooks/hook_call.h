#pragma once

/// The call that a lifecycle hook of a container makes: a command, a request or a sleep; and the
/// text of its failure.
/// Threads: pure functions, any.
/// Errors:  HookCall::error: the hook cannot be run at all.
/// Units:   Duration.
/// Source:  docs/behaviour/hooks.md; kubelet lifecycle handlerRunner.

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/http/caller.h"
#include "libs/kube/pod_types.h"

namespace k8s::io::api::core::v1 {
class LifecycleHandler;
}

namespace splitlet::pod_worker {

struct HookCall {
  enum class Kind { kExec, kHttp, kSleep, kNone };
  Kind kind = Kind::kNone;
  std::vector<std::string> command;
  http::Exchange request;
  Duration sleep{0};
  Status error;         // not OK: the hook cannot be run, which counts as its failure
  std::string subject;  // "Exec lifecycle hook ([a b]) for Container "c" in Pod "p_ns(uid)""
};

struct HookOf {
  const kube::Pod& pod;
  const kube::Container& container;
  const k8s::io::api::core::v1::LifecycleHandler& handler;
  std::string pod_ip;  // empty: none
};
HookCall MakeHookCall(const HookOf& hook);

/// OK for exit code 0; else the command's failure.
Status ExecOutcome(const std::vector<std::string>& command, int32_t exit_code,
                   const std::string& stderr_text);

/// For a waiting message or a log line. Never for an event, because it may hold secrets. Bounded.
std::string HookMessage(const HookCall& call, const Status& error, const std::string& output);

}  // namespace splitlet::pod_worker
