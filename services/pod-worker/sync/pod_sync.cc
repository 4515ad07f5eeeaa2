#include "services/pod-worker/sync/pod_sync.h"

#include <algorithm>
#include <csignal>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/span.h"
#include "libs/base/trace.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/kube/ephemeral.h"
#include "libs/kube/user_namespace.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/objects/runtime_choice.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/pod/phase.h"
#include "services/pod-worker/pod/probe_results.h"
#include "services/pod-worker/pod/volume_traits.h"
#include "services/pod-worker/records/started_attempts.h"
#include "services/pod-worker/runtime_config/dns.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/sandbox.h"
#include "services/pod-worker/sync/container_start.h"
#include "services/pod-worker/sync/plan/attempts.h"
#include "services/pod-worker/sync/plan/restart_all.h"
#include "services/pod-worker/volumes/local.h"
#include "services/pod-worker/volumes/object_volume.h"
#include "services/pod-worker/volumes/volume_manager.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kQuiet = 500ms;

/// By SIGKILL or SIGTERM, and not for memory.
bool WasKilled(const v1::ContainerRecord& record) {
  const bool signal = record.exit_code() == 128 + SIGKILL || record.exit_code() == 128 + SIGTERM;
  return record.state() == v1::ContainerRecord::EXITED && signal && record.reason() != "OOMKilled";
}

bool AsksOfHandler(const kube::Pod& pod) {
  const auto recursive = [](const kube::Container& container) {
    const auto& mounts = container.volume_mounts();
    return std::any_of(mounts.begin(), mounts.end(), [](const auto& mount) {
      return !mount.recursive_read_only().empty() && mount.recursive_read_only() != "Disabled";
    });
  };
  const auto& spec = pod.spec();
  return kube::HasUserNamespace(spec) ||
         std::any_of(spec.init_containers().begin(), spec.init_containers().end(), recursive) ||
         std::any_of(spec.containers().begin(), spec.containers().end(), recursive);
}

bool StartsAny(const PodActions& todo) {
  return todo.create_sandbox_attempt || !todo.start.empty() || !todo.start_init.empty() ||
         !todo.start_ephemeral.empty();
}

/// One run; what it learns on the way is in the outcome.
class Pass {
 public:
  Pass(const PodSync::Deps& deps, const SyncInput& input, kube::Pod pod)
      : deps_(deps), input_(input), pod_(std::move(pod)), events_(deps.events, RefOf(pod_)) {
    out_.restarts = input.restarts;
    out_.started_attempts = input.started_attempts;
  }

  SyncOutcome Run() {
    out_.status = Steps();
    return std::move(out_);
  }

 private:
  Deadline Soon(int times = 1) const { return After(deps_.clock, deps_.request_timeout * times); }
  bool Ending() const { return input_.ending->cancelled(); }

  Status Steps() {
    auto seen = Annotate(deps_.observer.Observe(pod_.metadata().uid(), Soon(), input_.known.get(),
                                                input_.listing.get()),
                         "error determining status");
    if (!seen.ok()) {
      if (!Ending()) events_.Warning("FailedSync", Message(seen.status()));
      return seen.status();
    }
    TakeSeen(std::move(seen).value());
    ForgetReplaced();
    if (const auto all = ComputeRestartAll(pod_, *seen_, out_.restarts.replacing))
      return RestartAllContainers(*all);
    out_.terminal_phase = TerminalPhase(pod_, *seen_, out_.restarts.replacing);
    if (!out_.terminal_phase.empty()) return OkStatus();
    RETURN_IF_ERROR(StopEarlierIncarnations(), "stop what is left of an earlier life");
    if (!out_.stop.empty()) return OkStatus();
    ASSIGN_OR_RETURN(const bool lost, LostCgroup(), "cgroup of the pod");
    if (lost) return EndWithoutCgroup();
    PodActions todo = ComputePodActions(pod_, *seen_, out_.restarts.replacing, input_.probes);
    const auto quiet = QuietFrom(todo.sandbox_id);
    NumberAttempts(*all_, input_.incarnation, out_.started_attempts, todo);
    if (todo.sandbox_changed)
      events_.Normal("SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
    if (todo.kill_pod) ListRunning(todo);
    StopFailedHooks(todo);
    if (!todo.stop.empty()) {
      out_.stop = std::move(todo.stop);
      return OkStatus();
    }
    if (todo.kill_pod) RETURN_IF_ERROR(StopSandboxes(), "stop sandboxes");
    if (EndsForGood(todo)) {
      out_.terminal_phase = "Failed";
      return OkStatus();
    }
    RETURN_IF_ERROR(Forget(todo.forget), "forget what has begun");
    RemoveRecords(todo.remove);
    ClearWaitingReasons();
    const bool waits_for_hook = HookUnderWay();
    if (waits_for_hook || !StartsAny(todo)) {
      out_.settled = !waits_for_hook && WasStarted();
      RefreshVolumes();
      return OkStatus();
    }
    if (quiet && *quiet > deps_.clock.Now()) {
      out_.retry_at = quiet;
      return OkStatus();
    }
    RETURN_IF_ERROR(PrepareVolumes(), "volumes");
    if (out_.waits_for_volumes) return OkStatus();
    return Start(todo);
  }

  /// Their logs stay, and say which attempt is next. What has begun is forgotten before the last
  /// record goes: one that is remembered and not there counts as lost.
  Status RestartAllContainers(const RestartAll& all) {
    out_.stop = all.stop;
    out_.unhooked = true;
    if (!out_.stop.empty()) return OkStatus();
    HookUnderWay();  // nothing runs: over
    deps_.log.Info("all containers of the pod begin anew: the end of one of them says so",
                   {KV("pod", kube::PodKey(pod_)), KV("podUID", pod_.metadata().uid()),
                    KV(kTraceIdField, TraceIdOf(input_.traceparent))});
    RETURN_IF_ERROR(RemoveAll(all.remove), "restart all containers");
    RETURN_IF_ERROR(SaveStartedAttempts(deps_.records, {pod_.metadata().uid(), input_.incarnation},
                                        {}, out_.started_attempts),
                    "forget what has begun");
    RETURN_IF_ERROR(RemoveAll(all.remove_last), "restart all containers");
    out_.again = true;
    return OkStatus();
  }

  StatusOr<bool> LostCgroup() {
    for (const auto& sandbox : seen_->sandboxes()) {
      if (sandbox.state() != v1::SandboxRecord::READY) continue;
      RETURN_IF_ERROR(deps_.cgroups.Adopt(pod_), "adopt");
      return deps_.cgroups.IsGone(pod_.metadata().uid());
    }
    return false;
  }

  /// It was removed under the pod, whose limits went with it. First its containers, in the outcome;
  /// the next sandbox gets a new one.
  Status EndWithoutCgroup() {
    PodActions todo;
    if (pod_.spec().restart_policy() != "Never") todo.create_sandbox_attempt = 0;
    ListRunning(todo);
    out_.stop = std::move(todo.stop);
    if (!out_.stop.empty()) return OkStatus();
    RETURN_IF_ERROR(StopSandboxes(), "stop sandboxes");
    out_.again = true;
    return OkStatus();
  }

  Status RemoveAll(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      out_.acted = true;
      RETURN_IF_ERROR(RemoveContainer(deps_.remover, cri::ContainerId(id), Soon()),
                      "remove container {}", id);
    }
    return OkStatus();
  }

  /// Whoever stops a sandbox kills its containers one after the other, and the sandbox shows it
  /// last: nothing is made in it before none of them was killed for a moment.
  std::optional<Clock::Time> QuietFrom(const std::string& sandbox_id) {
    const Clock::Time now = deps_.clock.Now();
    std::optional<Clock::Time> quiet;
    for (const auto& record : seen_->containers()) {
      if (record.sandbox_id() != sandbox_id || !WasKilled(record)) continue;
      if (out_.restarts.replacing.contains(record.id())) continue;
      if (NewestRecord(*seen_, record.name()) != &record) continue;
      const auto known = input_.killed.find(record.id());
      const Clock::Time since = known == input_.killed.end() ? now : known->second;
      out_.killed.emplace(record.id(), since);
      if (!quiet || since + kQuiet > *quiet) quiet = since + kQuiet;
    }
    return quiet;
  }

  void TakeSeen(v1::ObservedPod seen) {
    auto present =
        std::make_shared<v1::ObservedPod>(cri::PresentIncarnation(seen, input_.incarnation));
    RememberRunning(*present);
    cri::AddLost(pod_, out_.started_attempts, *present);
    cri::AddLost(pod_, out_.started_attempts, seen);
    seen_ = std::move(present);
    all_ = std::make_shared<v1::ObservedPod>(std::move(seen));
    out_.seen = all_;
  }

  /// What runs without being remembered, as after an upgrade or taken over from a kubelet. A save
  /// that fails is tried again by the next sync.
  void RememberRunning(const v1::ObservedPod& present) {
    cri::Begun begun = out_.started_attempts;
    const auto learn = [&](const kube::Container& container, bool remembered) {
      const auto* newest = NewestRecord(present, container.name());
      if (!remembered || newest == nullptr) return;
      if (newest->state() == v1::ContainerRecord::CREATED) return;
      auto& known = begun[container.name()];
      if (known.begun_at_ns != 0 && known.attempt >= newest->attempt()) return;
      known = {newest->attempt(), newest->restart_count(), newest->created_at_ns()};
    };
    for (const auto* list : {&pod_.spec().init_containers(), &pod_.spec().containers()})
      for (const auto& container : *list) learn(container, IsRemembered(pod_, container));
    for (const auto& container : kube::EphemeralContainersOf(pod_.spec())) learn(container, true);
    deps_.log.LogIfError(
        SaveStartedAttempts(deps_.records, {pod_.metadata().uid(), input_.incarnation},
                            std::move(begun), out_.started_attempts),
        "save what has begun");
  }

  /// An incarnation begins when the one before is over; what of that one runs nevertheless, because
  /// nothing remembered it, has to go before anything is made: first its containers, in the
  /// outcome.
  Status StopEarlierIncarnations() {
    for (const auto& record : all_->containers()) {
      if (!cri::IsEarlier(record.incarnation(), input_.incarnation)) continue;
      const bool unknown = record.state() == v1::ContainerRecord::UNKNOWN &&
                           !out_.restarts.replacing.contains(record.id());
      if (record.state() == v1::ContainerRecord::RUNNING || unknown)
        out_.stop.push_back({record.id(), record.name(),
                             fmt::format("Stopping container {}", record.name()), unknown});
    }
    if (!out_.stop.empty()) return OkStatus();
    for (const auto& sandbox : all_->sandboxes()) {
      const bool ready = sandbox.state() == v1::SandboxRecord::READY;
      if (ready && cri::IsEarlier(sandbox.incarnation(), input_.incarnation))
        RETURN_IF_ERROR(StopSandbox(sandbox), "sandbox {}", sandbox.id());
    }
    return OkStatus();
  }

  /// A replaced or hooked container that is gone needs no memory.
  void ForgetReplaced() {
    const auto gone = [this](const std::string& id) {
      return std::none_of(all_->containers().begin(), all_->containers().end(),
                          [&id](const v1::ContainerRecord& record) { return record.id() == id; });
    };
    std::erase_if(out_.restarts.replacing, gone);
    std::erase_if(out_.restarts.pre_stops, [&gone](const auto& mark) { return gone(mark.first); });
  }

  void ListRunning(PodActions& todo) {
    todo.stop.clear();
    for (const auto& record : seen_->containers()) {
      const bool running = record.state() == v1::ContainerRecord::RUNNING;
      const bool unknown = record.state() == v1::ContainerRecord::UNKNOWN;
      if (!running && (!unknown || out_.restarts.replacing.contains(record.id()))) continue;
      todo.stop.push_back({record.id(), record.name(),
                           fmt::format("Stopping container {}", record.name()),
                           todo.create_sandbox_attempt.has_value()});
    }
  }

  void StopFailedHooks(PodActions& todo) const {
    for (const auto& record : seen_->containers()) {
      const bool listed =
          std::any_of(todo.stop.begin(), todo.stop.end(),
                      [&record](const ContainerStop& stop) { return stop.id == record.id(); });
      if (record.state() == v1::ContainerRecord::RUNNING && !listed &&
          input_.failed_hooks.contains(record.id()))
        todo.stop.push_back({record.id(), record.name(), "FailedPostStartHook", false});
    }
  }

  bool HookUnderWay() {
    if (input_.hooked_id.empty()) return false;
    for (const auto& record : seen_->containers())
      if (record.id() == input_.hooked_id && record.state() == v1::ContainerRecord::RUNNING)
        return true;
    out_.hook_over = true;
    return false;
  }

  Status StopSandboxes() {
    for (const auto& sandbox : seen_->sandboxes())
      RETURN_IF_ERROR(StopSandbox(sandbox), "stop sandbox {}", sandbox.id());
    return OkStatus();
  }

  Status StopSandbox(const v1::SandboxRecord& sandbox) {
    FAIL_POINT("pod-worker.stop-sandbox.before");
    out_.acted = out_.acted || sandbox.state() == v1::SandboxRecord::READY;
    RETURN_IF_ERROR(deps_.runner.StopPodSandbox(cri::SandboxId(sandbox.id()), Soon()),
                    "StopPodSandbox");
    FAIL_POINT("pod-worker.stop-sandbox.after");
    return OkStatus();
  }

  /// Before the records go: one that is remembered and not there counts as lost.
  Status Forget(const std::vector<std::string>& containers) {
    if (containers.empty()) return OkStatus();
    cri::Begun begun = out_.started_attempts;
    for (const auto& name : containers) begun.erase(name);
    return SaveStartedAttempts(deps_.records, {pod_.metadata().uid(), input_.incarnation},
                               std::move(begun), out_.started_attempts);
  }

  /// With what was rotated away, and the link.
  void RemoveLogs(const v1::ContainerRecord& record) {
    const size_t slash = record.log_path().rfind('/');
    if (slash == std::string::npos) return;
    const std::string dir = record.log_path().substr(0, slash);
    const std::string base = record.log_path().substr(slash + 1);
    const auto folder = deps_.files.Stat(dir, false);
    const bool is_link = folder.ok() && folder->kind == fs::FileInfo::Kind::kSymlink;
    const auto listed = deps_.files.List(dir);
    if (listed.ok() && !is_link)
      for (const auto& entry : *listed)
        if (entry.name.starts_with(base))
          deps_.log.LogIfError(deps_.files.Remove(dir + "/" + entry.name), "remove container log");
    if (deps_.node.container_links_dir.empty()) return;
    deps_.log.LogIfError(deps_.files.Remove(deps_.node.container_links_dir + "/" +
                                            LogLinkName(pod_, record.name(), record.id())),
                         "remove the link of a container log");
  }

  void RemoveRecords(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      for (const auto& record : seen_->containers())
        if (record.id() == id) RemoveLogs(record);
      out_.acted = true;
      deps_.log.LogIfError(RemoveContainer(deps_.remover, cri::ContainerId(id), Soon()),
                           "remove container");
    }
  }

  bool WasStarted() const {
    const auto& containers = pod_.spec().containers();
    return std::all_of(containers.begin(), containers.end(), [this](const auto& container) {
      return NewestRecord(*seen_, container.name()) != nullptr;
    });
  }

  /// Of what runs, or has ended without being replaced, nothing is said; unless the actions that
  /// follow have to. What runs may not be seen yet by those who saw the one that it replaces.
  void ClearWaitingReasons() {
    for (const auto& record : seen_->containers()) {
      const bool ended = record.state() == v1::ContainerRecord::EXITED && !IsReplaced(record) &&
                         NewestRecord(*seen_, record.name()) == &record;
      const bool runs = record.state() == v1::ContainerRecord::RUNNING && !Replaces(record);
      if ((ended || runs) && !input_.failed_hooks.contains(record.id()))
        out_.waiting_reasons[record.name()] = std::nullopt;
    }
  }
  bool IsReplaced(const v1::ContainerRecord& record) const {
    return out_.restarts.replacing.contains(record.id());
  }
  bool Replaces(const v1::ContainerRecord& record) const {
    const auto& all = seen_->containers();
    return std::any_of(all.begin(), all.end(), [&](const v1::ContainerRecord& other) {
      return other.name() == record.name() && IsReplaced(other);
    });
  }

  Status PrepareVolumes() {
    const std::string& uid = pod_.metadata().uid();
    const auto place = node::FindPodPlace(deps_.files, deps_.node.pod_roots, uid);
    if (!place.ok()) {
      events_.Warning(
          "Failed", fmt::format("error making pod data directories: {}", Message(place.status())));
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
    out_.waits_for_volumes = made->progress == Progress::kUnderWay;
    volumes_ = std::move(made->paths);
    isolation_.volume_groups = std::move(made->groups);
    pod_dir_ = place->path;
    return OkStatus();
  }

  /// From the first container on, those of init containers and the ones with a hook among them.
  /// Containers go on with what they have when it cannot be brought up to date. Volumes of a pod
  /// that was taken over from a kubelet are where they would be made, and are set up as for a
  /// start.
  void RefreshVolumes() {
    if (!ShowsObjects(pod_) || !AnyRunning(*seen_)) return;
    const auto place = node::FindPodPlace(deps_.files, deps_.node.pod_roots, pod_.metadata().uid());
    if (!place.ok()) return;
    const VolumeInput input{pod_, input_.objects.get()};
    // Containers go on, whatever is told.
    if (place->ours)
      (void)deps_.volumes.Refresh(input, *place, WarnOfMount());
    else
      (void)deps_.volumes.SetUp(input, *place, WarnOfMount());
  }

  VolumeManager::OnFailed WarnOfMount() {
    return [this](const char* reason, const Status& why) { events_.Warning(reason, Message(why)); };
  }

  /// `make`: for a sandbox that is to be made.
  Status FindCgroup(bool make) {
    auto parent = make ? deps_.cgroups.Ensure(pod_) : deps_.cgroups.ParentOf(pod_.metadata().uid());
    if (!parent.ok()) {
      events_.Warning(
          "FailedCreatePodContainer",
          fmt::format("unable to ensure pod container exists: {}", Message(parent.status())));
      return parent.status();
    }
    cgroup_parent_ = std::move(parent).value();
    return OkStatus();
  }

  /// `make`: for a sandbox that is to be made; then what is wrong with its DNS is reported.
  StatusOr<runtime::v1::PodSandboxConfig> SandboxConfig(uint32_t attempt, bool make) {
    Dns host;
    if (deps_.node.resolver_config.empty()) {
      host.servers = {"127.0.0.1"};
      host.searches = {"."};
    } else {
      ASSIGN_OR_RETURN(const auto text,
                       deps_.files.Read(deps_.node.resolver_config, kMaxResolverFile), "read {}",
                       deps_.node.resolver_config);
      ASSIGN_OR_RETURN(host, ParseResolverFile(text), "{}", deps_.node.resolver_config);
    }
    const PodDns dns = MakeDns(pod_, deps_.node, host);
    if (make)
      for (const auto& warning : dns.warnings) events_.Warning(warning.reason, warning.message);
    runtime::v1::PodSandboxConfig config;
    std::optional<kube::Pod> with_overhead;
    for (const auto& [resource, amount] : runtime_.overhead) {
      if (!with_overhead) with_overhead = pod_;
      (*with_overhead->mutable_spec()->mutable_overhead())[resource].set_string(amount);
    }
    const kube::Pod& pod = with_overhead ? *with_overhead : pod_;
    const Status made = MakeSandboxConfig(
        {pod, deps_.node, dns.dns, attempt, input_.incarnation, isolation_, cgroup_parent_},
        config);
    if (!made.ok()) return made;  // its words are those of an event
    return config;
  }

  Status Start(const PodActions& todo) {
    std::string sandbox_id = todo.sandbox_id;
    const uint32_t attempt =
        todo.create_sandbox_attempt
            ? *todo.create_sandbox_attempt
            : (seen_->sandboxes_size() > 0 ? seen_->sandboxes(0).attempt() : 0);
    RETURN_IF_ERROR(FindCgroup(todo.create_sandbox_attempt.has_value()), "cgroup");
    const Status isolated = ChooseHandler(todo.create_sandbox_attempt.has_value());
    auto config = isolated.ok() ? SandboxConfig(attempt, todo.create_sandbox_attempt.has_value())
                                : StatusOr<runtime::v1::PodSandboxConfig>(isolated);
    if (!config.ok()) {
      events_.Warning("FailedCreatePodSandBox",
                      fmt::format("Failed to create pod sandbox: {}", Message(config.status())));
      return config.status();
    }
    std::vector<std::string> ips;
    if (todo.create_sandbox_attempt) {
      auto made = CreateSandbox(*config, attempt);
      if (!made.ok()) return made.status();
      // The next look replaces it, as it does one that loses its addresses.
      if (made->ips.empty() && !pod_.spec().host_network())
        return Unavailable("sandbox {} has no address", made->id);
      sandbox_id = made->id.str();
      ips = made->ips;
      // They start with the next look, in a sandbox that is there.
      out_.again = pod_.spec().ephemeral_containers_size() > 0;
    } else {
      const auto& known = seen_->sandboxes(0).ips();
      ips.assign(known.begin(), known.end());
    }
    ContainerStarter starter(
        {deps_, input_, pod_, events_, *config, volumes_, pod_dir_, sandbox_id, ips, isolation_},
        out_);
    const Status started = starter.StartAll(todo);
    // Of one that did not start the time of the next try is known.
    out_.again = out_.again || (todo.sidecar_first && starter.StartedSidecar());
    // Its probes begin when it is seen running.
    out_.again = out_.again || (starter.StartedAny() && HasProbes(pod_));
    return started;
  }

  StatusOr<cri::Sandbox> CreateSandbox(const runtime::v1::PodSandboxConfig& config,
                                       uint32_t attempt) {
    if (Ending()) return Cancelled("the pod is ending");
    if (Status made = MakeLogDir(deps_.files, deps_.node, config.log_directory()); !made.ok()) {
      events_.Warning("FailedCreatePodSandBox",
                      fmt::format("Failed to create pod sandbox: {}", Message(made)));
      return made;
    }
    const bool own_users = kube::HasUserNamespace(pod_.spec());
    deps_.metrics.CountPod(own_users);
    const Clock::Time begin = deps_.clock.Now();
    auto id = RunSandbox(config, attempt, runtime_.handler);
    if (id.status().code() == StatusCode::kCancelled && Ending()) return id.status();
    deps_.metrics.ObserveSandbox(runtime_.handler, deps_.clock.Now() - begin, id.ok());
    if (!id.ok()) {
      deps_.metrics.CountPodError(own_users);
      return SandboxFailed(id.status());
    }
    deps_.log.Info(
        "sandbox created",
        {KV("pod", kube::PodKey(pod_)), KV("podUID", pod_.metadata().uid()), KV("sandboxID", *id),
         KV("attempt", attempt), KV(kTraceIdField, TraceIdOf(input_.traceparent))});
    if (pod_.spec().host_network()) return cri::Sandbox{.id = *id};
    auto status = deps_.reader.PodSandboxStatus(*id, Soon());
    if (!status.ok() && !Ending())
      events_.Warning("FailedPodSandBoxStatus", fmt::format("Unable to get pod sandbox status: {}",
                                                            Message(status.status())));
    return status;
  }

  /// The class of a pod that has its sandbox may be gone. The runtime is asked only where the pod
  /// asks for what one handler can and another cannot.
  Status ChooseHandler(bool for_sandbox) {
    const bool asks = AsksOfHandler(pod_);
    if (!asks && !for_sandbox) return OkStatus();
    auto chosen = ChooseRuntime(pod_, input_.objects.get());
    if (!chosen.ok()) return chosen.status();
    runtime_ = std::move(chosen).value();
    if (!asks) return OkStatus();
    const std::string& name = runtime_.handler;
    ASSIGN_OR_RETURN(const auto report, deps_.reader.RuntimeStatus(Soon()), "features");
    const auto& handlers = report.handlers;
    const auto found = std::find_if(handlers.begin(), handlers.end(),
                                    [&name](const auto& handler) { return handler.name == name; });
    const cri::RuntimeHandler handler = found == handlers.end() ? cri::RuntimeHandler{} : *found;
    isolation_.recursive_read_only = handler.recursive_read_only_mounts;
    if (!kube::HasUserNamespace(pod_.spec())) return OkStatus();
    isolation_.user_ids = input_.user_ids;
    CHECK(isolation_.user_ids, "no ids were given to {}", pod_.metadata().uid());
    if (handler.user_namespaces) return OkStatus();
    return FailedPrecondition(
        "can't set `spec.hostUsers: false`, {} does not support user namespaces",
        name.empty() ? "runtime" : fmt::format("RuntimeClass handler \"{}\"", name));
  }

  StatusOr<cri::SandboxId> RunSandbox(const runtime::v1::PodSandboxConfig& config, uint32_t attempt,
                                      const std::string& handler) {
    FAIL_POINT("pod-worker.create-sandbox.before");
    out_.acted = true;
    auto id = deps_.runner.RunPodSandbox(config, handler, {Soon(2).at, input_.ending});
    FAIL_POINT("pod-worker.create-sandbox.after");
    if (id.status().code() != StatusCode::kAlreadyExists) return id;
    // Made by a call whose answer nobody got: it is this one, or the runtime is still cleaning up.
    ASSIGN_OR_RETURN(const auto listed, deps_.reader.ListPodSandbox(pod_.metadata().uid(), Soon()),
                     "look for the sandbox");
    for (const auto& sandbox : listed)
      if (sandbox.attempt == attempt && sandbox.state == cri::SandboxState::kReady)
        return sandbox.id;
    return Aborted("the name of the sandbox is still reserved");
  }

  Status SandboxFailed(const Status& why) {
    if (Ending()) return Cancelled("the pod is ending");
    const auto report = deps_.reader.RuntimeStatus(Soon());
    if (report.ok() && !pod_.spec().host_network()) {
      for (const auto& condition : report->conditions) {
        if (condition.type != "NetworkReady" || condition.status) continue;
        out_.network_not_ready = true;
        const std::string text = fmt::format(
            "network is not ready: container runtime network not ready: "
            "NetworkReady=false reason:{} message:{}",
            condition.reason, condition.message);
        events_.Warning("NetworkNotReady", text);
        return Unavailable(text);
      }
    }
    events_.Warning("FailedCreatePodSandBox",
                    fmt::format("Failed to create pod sandbox: {}", Message(why)));
    return Annotate(why, "create sandbox");
  }

  const PodSync::Deps& deps_;
  const SyncInput& input_;
  const kube::Pod pod_;
  PodEvents events_;
  std::shared_ptr<const v1::ObservedPod>
      seen_;  // of the present incarnation, and what is lost of it
  std::shared_ptr<const v1::ObservedPod> all_;  // of all incarnations
  std::map<std::string, std::string> volumes_;
  RuntimeChoice runtime_;
  Isolation isolation_;
  std::string cgroup_parent_;
  std::string pod_dir_;
  SyncOutcome out_;
};

}  // namespace

SyncOutcome PodSync::Run(const SyncInput& input) const {
  Span span("syncPod", SpanKind::kInternal, input.traceparent);
  const cri::TraceScope trace(span.traceparent());
  kube::Pod pod;
  if (!pod.ParseFromString(input.pod)) {
    SyncOutcome broken;
    broken.status = DataLoss("the granted pod does not parse");
    broken.restarts = input.restarts;
    broken.started_attempts = input.started_attempts;
    return broken;
  }
  span.Set("k8s.pod.uid", pod.metadata().uid());
  span.Set("k8s.pod.name", pod.metadata().name());
  span.Set("k8s.namespace.name", pod.metadata().namespace_());
  SyncOutcome outcome = Pass(deps_, input, std::move(pod)).Run();
  span.End(outcome.status);
  return outcome;
}

}  // namespace splitlet::pod_worker
