#include "services/pod-worker/sync/sync_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "libs/base/span.h"
#include "libs/base/trace.h"
#include "libs/cri/trace_scope.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/pod/phase.h"
#include "services/pod-worker/pod/probe_results.h"
#include "services/pod-worker/pod/sandbox_stop.h"
#include "services/pod-worker/pod/volume_traits.h"
#include "services/pod-worker/records/started_attempts.h"
#include "services/pod-worker/sync/container_calls.h"
#include "services/pod-worker/sync/container_logs.h"
#include "services/pod-worker/sync/container_start.h"
#include "services/pod-worker/sync/plan/attempts.h"
#include "services/pod-worker/sync/plan/quiet.h"
#include "services/pod-worker/sync/plan/stops.h"
#include "services/pod-worker/sync/plan/waiting.h"
#include "services/pod-worker/volumes/local.h"
#include "services/pod-worker/volumes/volume_manager.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

bool StartsAny(const PodActions& todo) {
  return todo.create_sandbox_attempt || !todo.start.empty() || !todo.start_init.empty() ||
         !todo.start_ephemeral.empty();
}

}  // namespace

SyncPass::SyncPass(const SyncDeps& deps, const SyncInput& input, const kube::Pod& pod)
    : deps_(deps),
      input_(input),
      pod_(pod),
      events_(deps.events, RefOf(pod_)),
      sandbox_({deps_, input_, pod_, events_}, out_) {
  out_.restarts = input.restarts;
  out_.started_attempts = input.started_attempts;
}

SyncOutcome SyncPass::Run() {
  out_.status = Steps();
  return std::move(out_);
}

Status SyncPass::Steps() {
  if (Status observed = Observe(); !observed.ok()) return observed;
  ForgetReplaced();
  if (const auto all = ComputeRestartAll(pod_, *seen_, out_.restarts.replacing))
    return RestartAllContainers(*all);
  out_.terminal_phase = TerminalPhase(pod_, *seen_, out_.restarts.replacing);
  if (!out_.terminal_phase.empty()) return OkStatus();
  RETURN_IF_ERROR(StopEarlierIncarnations(), "stop what is left of an earlier incarnation");
  if (!out_.stop.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const bool lost, LostCgroup(), "cgroup of the pod");
  if (lost) return EndWithoutCgroup();
  return Carry(ComputePodActions(pod_, *seen_, out_.restarts.replacing, input_.probes));
}

Status SyncPass::Observe() {
  auto seen = Annotate(deps_.observer.Observe(pod_.metadata().uid(), Soon(), input_.known.get(),
                                              input_.listing.get()),
                       "error determining status");
  if (!seen.ok()) {
    if (!Ending()) events_.Warning("FailedSync", Message(seen.status()));
    return seen.status();
  }
  TakeSeen(std::move(seen).value());
  return OkStatus();
}

Status SyncPass::Carry(PodActions todo) {
  Quiet quiet = ComputeQuiet(
      {*seen_, todo.sandbox_id, out_.restarts.replacing, input_.killed, deps_.clock.Now()});
  out_.killed = std::move(quiet.killed);
  NumberAttempts(*all_, input_.incarnation, out_.started_attempts, todo);
  if (todo.sandbox_changed)
    events_.Normal("SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
  if (todo.kill_pod)
    todo.stop =
        StopsOfAll(*seen_, out_.restarts.replacing, todo.create_sandbox_attempt.has_value());
  AddFailedHooks(*seen_, input_.failed_hooks, todo.stop);
  if (!todo.stop.empty()) {
    out_.stop = std::move(todo.stop);
    return OkStatus();
  }
  if (todo.kill_pod) RETURN_IF_ERROR(StopSandboxes(), "stop sandboxes");
  if (EndsForGood(todo)) {
    out_.terminal_phase = "Failed";
    return OkStatus();
  }
  RETURN_IF_ERROR(ForgetAttempts(todo.forget), "forget what has begun");
  RemoveRecords(todo.remove);
  for (const auto& name : NoLongerWaiting({*seen_, out_.restarts.replacing, input_.failed_hooks}))
    out_.waiting_reasons[name] = std::nullopt;
  const bool waits_for_hook = HookUnderWay();
  if (waits_for_hook || !StartsAny(todo)) {
    if (!waits_for_hook && WasStarted()) out_.next = NextSync::kNotNeeded;
    RefreshVolumes();
    return OkStatus();
  }
  if (quiet.until && *quiet.until > deps_.clock.Now()) {
    out_.retry_at = quiet.until;
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const bool prepared, PrepareVolumes(), "volumes");
  return prepared ? Start(todo) : OkStatus();
}

/// Their logs stay, and say which attempt is next. What has begun is forgotten before the last
/// record goes: an attempt that is remembered and has no record counts as lost.
Status SyncPass::RestartAllContainers(const RestartAll& all) {
  out_.stop = all.stop;
  out_.stop_hooks = false;
  if (!out_.stop.empty()) return OkStatus();
  HookUnderWay();  // nothing runs: over
  deps_.log.Info("restarting all containers of the pod (RestartAllContainers)",
                 {KV("pod", kube::PodKey(pod_)), KV("podUID", pod_.metadata().uid()),
                  KV(kTraceIdField, TraceIdOf(input_.traceparent))});
  RETURN_IF_ERROR(RemoveAll(all.remove), "restart all containers");
  RETURN_IF_ERROR(SaveAttempts({}), "forget what has begun");
  RETURN_IF_ERROR(RemoveAll(all.remove_last), "restart all containers");
  out_.next = NextSync::kImmediately;
  return OkStatus();
}

StatusOr<bool> SyncPass::LostCgroup() {
  for (const auto& sandbox : seen_->sandboxes()) {
    if (sandbox.state() != v1::SandboxRecord::READY) continue;
    RETURN_IF_ERROR(deps_.cgroups.Adopt(pod_), "adopt");
    return deps_.cgroups.IsGone(pod_.metadata().uid());
  }
  return false;
}

/// The cgroup was removed under the pod, and its limits with it. First the containers go, in the
/// outcome; the next sandbox gets a new cgroup.
Status SyncPass::EndWithoutCgroup() {
  const bool replaced = pod_.spec().restart_policy() != "Never";
  out_.stop = StopsOfAll(*seen_, out_.restarts.replacing, replaced);
  if (!out_.stop.empty()) return OkStatus();
  RETURN_IF_ERROR(StopSandboxes(), "stop sandboxes");
  out_.next = NextSync::kImmediately;
  return OkStatus();
}

Status SyncPass::RemoveAll(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    out_.acted = true;
    RETURN_IF_ERROR(RemoveContainer(deps_.remover, cri::ContainerId(id), Soon()),
                    "remove container {}", id);
  }
  return OkStatus();
}

void SyncPass::TakeSeen(v1::ObservedPod seen) {
  auto present =
      std::make_shared<v1::ObservedPod>(cri::PresentIncarnation(seen, input_.incarnation));
  RememberRunning(*present);
  cri::AddLost(pod_, out_.started_attempts, *present);
  cri::AddLost(pod_, out_.started_attempts, seen);
  seen_ = std::move(present);
  all_ = std::make_shared<v1::ObservedPod>(std::move(seen));
  out_.seen = all_;
}

/// The next sync tries again what cannot be saved.
void SyncPass::RememberRunning(const v1::ObservedPod& present) {
  deps_.log.LogIfError(SaveAttempts(WithUnremembered(pod_, present, out_.started_attempts)),
                       "save started attempts");
}

Status SyncPass::SaveAttempts(cri::StartedAttempts next) {
  return SaveStartedAttempts(deps_.records, {pod_.metadata().uid(), input_.incarnation},
                             std::move(next), out_.started_attempts);
}

/// An incarnation begins when the one before is over. If something of it runs nevertheless, because
/// no record remembered it, that has to go before anything is made: first its containers, in the
/// outcome.
Status SyncPass::StopEarlierIncarnations() {
  out_.stop = StopsOfEarlier(*all_, input_.incarnation, out_.restarts.replacing);
  if (!out_.stop.empty()) return OkStatus();
  for (const auto& sandbox : all_->sandboxes()) {
    const bool ready = sandbox.state() == v1::SandboxRecord::READY;
    if (ready && cri::IsEarlier(sandbox.incarnation(), input_.incarnation))
      RETURN_IF_ERROR(StopSandbox(sandbox), "sandbox {}", sandbox.id());
  }
  return OkStatus();
}

/// A replaced or hooked container that is gone needs no memory.
void SyncPass::ForgetReplaced() {
  const auto gone = [this](const std::string& id) {
    return std::none_of(all_->containers().begin(), all_->containers().end(),
                        [&id](const v1::ContainerRecord& record) { return record.id() == id; });
  };
  std::erase_if(out_.restarts.replacing, gone);
  std::erase_if(out_.restarts.pre_stops, [&gone](const auto& mark) { return gone(mark.first); });
}

bool SyncPass::HookUnderWay() {
  if (input_.hooked_id.empty()) return false;
  for (const auto& record : seen_->containers())
    if (record.id() == input_.hooked_id && record.state() == v1::ContainerRecord::RUNNING)
      return true;
  out_.hook_over = true;
  return false;
}

Status SyncPass::StopSandboxes() {
  for (const auto& sandbox : seen_->sandboxes())
    RETURN_IF_ERROR(StopSandbox(sandbox), "stop sandbox {}", sandbox.id());
  return OkStatus();
}

Status SyncPass::StopSandbox(const v1::SandboxRecord& sandbox) {
  out_.acted = out_.acted || sandbox.state() == v1::SandboxRecord::READY;
  return Annotate(pod_worker::StopSandbox(deps_.runner, cri::SandboxId(sandbox.id()), Soon()),
                  "StopPodSandbox");
}

/// Before the records go: an attempt that is remembered and has no record counts as lost.
Status SyncPass::ForgetAttempts(const std::vector<std::string>& containers) {
  if (containers.empty()) return OkStatus();
  cri::StartedAttempts attempts = out_.started_attempts;
  for (const auto& name : containers) attempts.erase(name);
  return SaveAttempts(std::move(attempts));
}

void SyncPass::RemoveRecords(const std::vector<std::string>& ids) {
  const ContainerLogs logs({deps_.files, deps_.node, deps_.log}, pod_);
  for (const std::string& id : ids) {
    for (const auto& record : seen_->containers())
      if (record.id() == id) logs.Remove(record);
    out_.acted = true;
    deps_.log.LogIfError(RemoveContainer(deps_.remover, cri::ContainerId(id), Soon()),
                         "remove container");
  }
}

bool SyncPass::WasStarted() const {
  const auto& containers = pod_.spec().containers();
  return std::all_of(containers.begin(), containers.end(), [this](const auto& container) {
    return NewestRecord(*seen_, container.name()) != nullptr;
  });
}

StatusOr<bool> SyncPass::PrepareVolumes() {
  const std::string& uid = pod_.metadata().uid();
  const auto place = node::FindPodPlace(deps_.files, deps_.node.pod_roots, uid);
  if (!place.ok()) {
    events_.Warning("Failed",
                    fmt::format("error making pod data directories: {}", Message(place.status())));
    return place.status();
  }
  const VolumeInput input{.pod = pod_,
                          .objects = input_.objects.get(),
                          .warn = [this](const char* reason, const std::string& text) {
                            events_.Warning(reason, text);
                          }};
  for (auto& text : VolumesOfOtherGroups(input, {deps_.files, fs::GroupOf, place->path}))
    events_.Warning("AlreadyMountedVolume", std::move(text));
  auto made = deps_.volumes.SetUp(input, *place, WarnOfMount());
  if (!made.ok()) return made.status();
  volumes_ = std::move(made->paths);
  sandbox_.SetVolumeGroups(std::move(made->groups));
  pod_dir_ = place->path;
  return made->progress == Progress::kDone;
}

/// From the first container on, those of init containers and the ones with a hook among them.
/// Containers go on with what they have when it cannot be brought up to date. Volumes of a pod
/// that was taken over from a kubelet are where they would be made, and are set up as for a
/// start.
void SyncPass::RefreshVolumes() {
  if (!deps_.volumes.MayRefresh(pod_) || !AnyRunning(*seen_)) return;
  const auto place = node::FindPodPlace(deps_.files, deps_.node.pod_roots, pod_.metadata().uid());
  if (!place.ok()) return;
  const VolumeInput input{pod_, input_.objects.get()};
  if (place->ours) return deps_.volumes.Refresh(input, *place, WarnOfMount());
  // Each volume that fails has its event.
  deps_.volumes.SetUp(input, *place, WarnOfMount()).IgnoreError();
}

VolumeManager::OnFailed SyncPass::WarnOfMount() {
  return [this](const char* reason, const Status& why) { events_.Warning(reason, Message(why)); };
}

Status SyncPass::Start(const PodActions& todo) {
  const bool make = todo.create_sandbox_attempt.has_value();
  const uint32_t seen_attempt = seen_->sandboxes_size() > 0 ? seen_->sandboxes(0).attempt() : 0;
  const uint32_t attempt = todo.create_sandbox_attempt.value_or(seen_attempt);
  auto config = sandbox_.Configure(attempt, make);
  if (!config.ok()) return config.status();
  std::string sandbox_id = todo.sandbox_id;
  std::vector<std::string> ips;
  bool again = false;
  if (make) {
    auto made = sandbox_.Create(*config, attempt);
    if (!made.ok()) return made.status();
    // The next sync replaces it, as it does a sandbox that loses its addresses.
    if (made->ips.empty() && !pod_.spec().host_network())
      return Unavailable("sandbox {} has no address", made->id);
    sandbox_id = made->id.str();
    ips = made->ips;
    // Ephemeral containers start with the next sync, in a sandbox that is there.
    again = pod_.spec().ephemeral_containers_size() > 0;
  } else {
    const auto& known = seen_->sandboxes(0).ips();
    ips.assign(known.begin(), known.end());
  }
  ContainerStarter starter({.deps = deps_,
                            .input = input_,
                            .pod = pod_,
                            .events = events_,
                            .sandbox_config = *config,
                            .volumes = volumes_,
                            .pod_dir = pod_dir_,
                            .sandbox_id = sandbox_id,
                            .ips = ips,
                            .isolation = sandbox_.isolation()},
                           out_);
  const Status started = starter.StartAll(todo);
  // The time of the next try of a container that did not start is in `retry_at`.
  again = again || (todo.sidecar_first && starter.StartedSidecar());
  // Its probes begin when it is seen running.
  again = again || (starter.StartedAny() && HasProbes(pod_));
  if (again) out_.next = NextSync::kImmediately;
  return started;
}

SyncOutcome RunSync(const SyncDeps& deps, const SyncInput& input) {
  Span span("syncPod", SpanKind::kInternal, input.traceparent);
  const cri::TraceScope trace(span.traceparent());
  const auto pod = input.pod.Get();
  const auto& meta = pod->metadata();
  span.Set("k8s.pod.uid", meta.uid());
  span.Set("k8s.pod.name", meta.name());
  span.Set("k8s.namespace.name", meta.namespace_());
  SyncOutcome outcome = SyncPass(deps, input, *pod).Run();
  span.End(outcome.status);
  return outcome;
}

}  // namespace splitlet::pod_worker
