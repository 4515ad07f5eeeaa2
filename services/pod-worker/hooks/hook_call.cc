#include "services/pod-worker/hooks/hook_call.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "k8s.io/apimachinery/pkg/util/intstr/intstr.pb.h"
#include "libs/base/text.h"
#include "services/pod-worker/pod/grace.h"
#include "services/pod-worker/pod/http_target.h"

namespace splitlet::pod_worker {

namespace core = k8s::io::api::core::v1;

namespace {

constexpr const char* kUserAgent = "kube-lifecycle/1.36";
constexpr uint64_t kMaxBody = 10u << 10;
constexpr size_t kMaxText = 1024;

StatusOr<int64_t> PortOf(const core::HTTPGetAction& get, const kube::Container& container) {
  const auto number = FindPort(get.port(), container);
  if (!number)
    return InvalidArgument("couldn't find port: {} in {}", get.port().str_val(), container.name());
  if (*number < 1 || *number > 65535) return InvalidArgument("invalid port number: {}", *number);
  return *number;
}

Status FillRequest(const HookOf& hook, http::Exchange& request) {
  const auto& get = hook.handler.http_get();
  const std::string host = get.host().empty() ? hook.pod_ip : get.host();
  if (host.empty()) return FailedPrecondition("failed to find networking container: no IP");
  ASSIGN_OR_RETURN(const int64_t port, PortOf(get, hook.container), "port");
  ASSIGN_OR_RETURN(request.headers, HeaderLines(get, kUserAgent), "headers");
  request.url =
      fmt::format("{}://{}{}", SchemeOf(get), HostAndPort(host, port), EscapedPath(get.path()));
  request.max_bytes = kMaxBody;
  request.headers_only = true;
  return OkStatus();
}

}  // namespace

HookCall MakeHookCall(const HookOf& hook) {
  using enum HookCall::Kind;
  const auto& meta = hook.pod.metadata();
  const std::string whose =
      fmt::format("for Container \"{}\" in Pod \"{}_{}({})\"", hook.container.name(), meta.name(),
                  meta.namespace_(), meta.uid());
  HookCall call;
  if (hook.handler.has_exec()) {
    call.kind = kExec;
    const auto& words = hook.handler.exec().command();
    call.command.assign(words.begin(), words.end());
    call.subject =
        fmt::format("Exec lifecycle hook ([{}]) {}", fmt::join(call.command, " "), whose);
  } else if (hook.handler.has_http_get()) {
    call.kind = kHttp;
    call.subject =
        fmt::format("HTTP lifecycle hook ({}) {}", hook.handler.http_get().path(), whose);
    call.error = FillRequest(hook, call.request);
  } else if (hook.handler.has_sleep()) {
    call.kind = kSleep;
    const int64_t seconds = hook.handler.sleep().seconds();
    call.sleep = std::chrono::seconds{std::clamp<int64_t>(seconds, 0, kMaxGrace)};
    call.subject = fmt::format("Sleep lifecycle hook ({}) {}", seconds, whose);
  } else {
    call.error = InvalidArgument("invalid handler");
  }
  return call;
}

Status ExecOutcome(const std::vector<std::string>& command, int32_t exit_code,
                   const std::string& stderr_text) {
  if (exit_code == 0) return OkStatus();
  return MakeStatus(StatusCode::kUnknown, "command '{}' exited with {}: {}",
                    fmt::join(command, " "), exit_code, ToText(stderr_text, kMaxText));
}

std::string HookMessage(const HookCall& call, const Status& error, const std::string& output) {
  if (call.kind == HookCall::Kind::kNone)
    return fmt::format("Cannot run handler: {}", Message(error));
  const std::string text = fmt::format("{} failed - error: {}", ToText(call.subject, 2 * kMaxText),
                                       ToText(std::string(Message(error)), 2 * kMaxText));
  if (call.kind != HookCall::Kind::kExec) return text;
  return fmt::format("{}, message: \"{}\"", text, ToText(output, kMaxText));
}

}  // namespace splitlet::pod_worker
