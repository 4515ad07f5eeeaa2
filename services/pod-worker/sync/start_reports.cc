#include "services/pod-worker/sync/start_reports.h"

#include <optional>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/trace.h"

namespace splitlet::pod_worker {

namespace {

/// Each attempt has another id, and would make another event.
std::string WithoutId(std::string text, const std::string& id, const std::string& name) {
  if (id.empty()) return text;
  for (size_t at = text.find(id); at != std::string::npos; at = text.find(id, at + name.size()))
    text.replace(at, id.size(), name);
  return text;
}

}  // namespace

std::string TypeOf(const ContainerStart& start) {
  switch (start.kind) {
    case ContainerKind::kRegular: return "container";
    case ContainerKind::kInit:
    case ContainerKind::kSidecar: return "init_container";
    case ContainerKind::kEphemeral: return "ephemeral_container";
  }
  UNREACHABLE();
}

void StartReports::Failed(const ContainerStart& start, const Failure& failure) {
  const std::string message = Message(failure.status);
  context_.events.Warning(
      "Failed", fmt::format("Error: {}", WithoutId(message, failure.id, start.name)), start.name);
  out_.waiting_reasons[start.name] = WaitingReason{failure.reason, message, std::nullopt};
  context_.deps.metrics.CountStartError(TypeOf(start), failure.reason);
  if (first_error_.ok())
    first_error_ =
        MakeStatus(failure.status.code(), "failed to \"StartContainer\" for \"{}\" with {}: \"{}\"",
                   start.name, failure.reason, message);
}

void StartReports::GivenUp(const Status& why) {
  if (first_error_.ok()) first_error_ = Cancelled("the pod is ending: {}", Message(why));
}

void StartReports::AwaitsImage(const ImageFailure& failed, const std::string& container) {
  const auto& [reason, message, until, cause] = failed.reason;
  if (!failed.backs_off || !failed.backed_off.contains(container))
    context_.events.Warning("Failed", fmt::format("Error: {}", reason), container);
  if (failed.backs_off) out_.backed_off[failed.image].insert(container);
  out_.waiting_reasons[container] = failed.reason;
  if (failed.sync_at) {
    TryAgainAt(*failed.sync_at);
  } else if (first_error_.ok()) {
    first_error_ = FailedPrecondition("{}: {}", reason, message);
  }
}

void StartReports::BacksOff(const ContainerStart& start, const CrashBackoff::Wait& wait,
                            Clock::Time now) {
  const auto& meta = context_.pod.metadata();
  const std::string who =
      fmt::format("{} in pod {}_{}({})", start.name, meta.name(), meta.namespace_(), meta.uid());
  context_.events.Warning("BackOff", fmt::format("Back-off restarting failed container {}", who),
                          start.name);
  const Clock::Time until = now + wait.left;
  out_.waiting_reasons[start.name] =
      WaitingReason{"CrashLoopBackOff",
                    fmt::format("back-off {} restarting failed container={} pod={}_{}({})",
                                FormatSeconds(wait.delay), start.name, meta.name(),
                                meta.namespace_(), meta.uid()),
                    until};
  TryAgainAt(until);
}

void StartReports::TryAgainAt(Clock::Time at) {
  if (!out_.retry_at || at < *out_.retry_at) out_.retry_at = at;
}

void StartReports::Created(const ContainerStart& start) {
  context_.events.Normal("Created", "Container created", start.name);
}

/// The runtime may still be in a call of the process before, and its error for the end of that call
/// names no cause.
void StartReports::Starts(const ContainerStart& start) const {
  if (!context_.input.first || start.created_id.empty()) return;
  context_.deps.log.Info(
      "starting a container that was made before pod-worker started",
      {KV("pod", kube::PodKey(context_.pod)), KV("podUID", context_.pod.metadata().uid()),
       KV("containerName", start.name), KV("containerID", start.created_id),
       KV(kTraceIdField, TraceIdOf(context_.input.traceparent))});
}

void StartReports::Started(const ContainerStart& start, const cri::ContainerId& id) {
  // A reader that has not seen it yet must not take the container before it for ended for good.
  out_.waiting_reasons[start.name] =
      out_.restarts.replacing.contains(start.exited_id)
          ? std::optional(WaitingReason{kContainerCreating, "", std::nullopt})
          : std::nullopt;
  context_.events.Normal("Started", "Container started", start.name);
  context_.deps.log.Info(
      "container started",
      {KV("pod", kube::PodKey(context_.pod)), KV("podUID", context_.pod.metadata().uid()),
       KV("containerName", start.name), KV("containerID", id),
       KV(kTraceIdField, TraceIdOf(context_.input.traceparent))});
}

void StartReports::SandboxDied(const ContainerStart& start) {
  context_.deps.log.Info(
      "sandbox died while a container was made in it, the next sync replaces it",
      {KV("pod", kube::PodKey(context_.pod)), KV("podUID", context_.pod.metadata().uid()),
       KV("containerName", start.name), KV("sandboxID", context_.sandbox_id),
       KV(kTraceIdField, TraceIdOf(context_.input.traceparent))});
}

}  // namespace splitlet::pod_worker
