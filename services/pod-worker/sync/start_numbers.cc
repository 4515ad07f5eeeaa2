#include "services/pod-worker/sync/start_numbers.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/pod/crash_backoff.h"
#include "services/pod-worker/records/started_attempts.h"
#include "services/pod-worker/sync/container_logs.h"
#include "services/pod-worker/sync/plan/attempts.h"

namespace splitlet::pod_worker {

/// The runtime may lack attempts: it lost its records, or another program removed a container. The
/// log files are left, and like a kubelet pod-worker counts on from them. If the records belong to
/// an earlier incarnation, the restart count starts from 0.
void StartNumbers::Set(ContainerStart& start) const {
  const uint32_t after_logs = NextAttemptFromLogs(
      context_.deps.files,
      fmt::format("{}/{}", context_.sandbox_config.log_directory(), start.name));
  const bool no_record = !start.attempt;
  if (no_record) {
    start.attempt = after_logs;
  } else if (start.created_id.empty() && after_logs > *start.attempt) {
    if (start.restart_count) *start.restart_count += after_logs - *start.attempt;
    start.attempt = after_logs;
  }
  if (!start.restart_count) start.restart_count = no_record ? *start.attempt : 0;
}

CrashBackoff::Exit StartNumbers::ExitOf(const ContainerStart& start) const {
  const Duration age{
      std::max<int64_t>(ToNanos(context_.deps.clock.WallNow()) - start.exited_at_ns, 0)};
  return {.id = start.exited_id, .age = age};
}

bool StartNumbers::BacksOff(const kube::Container& container, const ContainerStart& start) {
  if (start.exited_id.empty() || !start.created_id.empty()) return false;
  const bool unhealthy = IsUnhealthy(context_.input.probes, start.exited_id);
  if (out_.restarts.replacing.contains(start.exited_id) && !unhealthy) return false;
  const CrashBackoff::Exit exit = ExitOf(start);
  const Clock::Time now = context_.deps.clock.Now();
  const auto wait = out_.restarts.backoff.WaitAfter(BackoffKey(context_.pod, container), exit, now);
  if (wait.left <= Duration{0}) return false;
  reports_.BacksOff(start, wait, now);
  return true;
}

Status StartNumbers::SaveBackoff(const kube::Container& container, const ContainerStart& start) {
  if (start.exited_id.empty()) return OkStatus();
  const bool changed = out_.restarts.backoff.Advance(BackoffKey(context_.pod, container),
                                                     ExitOf(start), context_.deps.clock.Now());
  if (!changed) return OkStatus();
  return context_.deps.records.SaveRestart(context_.pod.metadata().uid(),
                                           context_.input.incarnation, out_.restarts);
}

Status StartNumbers::RememberStart(const kube::Container& container, const ContainerStart& start) {
  if (start.kind != ContainerKind::kEphemeral && !IsRemembered(context_.pod, container))
    return OkStatus();
  cri::StartedAttempts next = out_.started_attempts;
  auto& known = next[start.name];
  if (known.begun_at_ns != 0 && known.attempt == *start.attempt) return OkStatus();
  known = {*start.attempt, static_cast<int32_t>(*start.restart_count),
           ToNanos(context_.deps.clock.WallNow())};
  return SaveStartedAttempts(context_.deps.records, context_.ThisPod(), std::move(next),
                             out_.started_attempts);
}

void StartNumbers::ForgetStart(cri::StartedAttempts before) {
  context_.deps.log.LogIfError(SaveStartedAttempts(context_.deps.records, context_.ThisPod(),
                                                   std::move(before), out_.started_attempts),
                               "forget a container that never ran");
}

}  // namespace splitlet::pod_worker
