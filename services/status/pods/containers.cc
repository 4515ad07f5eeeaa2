#include "services/status/pods/containers.h"

#include <algorithm>
#include <optional>

#include "libs/cri/incarnation.h"
#include "libs/cri/observe.h"
#include "libs/kube/ephemeral.h"
#include "libs/kube/resources.h"
#include "libs/kube/restart_policy.h"

namespace splitlet::status {
namespace {

constexpr size_t kMessageBudget = 12288;
/// The kernel's minimum; a smaller amount is shown as requested.
constexpr int64_t kLeastCpuRequestMillis = 2, kLeastCpuLimitMillis = 10;
constexpr std::string_view kRestartingAll = "RestartingAllContainers";
constexpr std::string_view kRemovedToRestart =
    "The container is removed because RestartAllContainers in place";

struct Seen {
  const v1::ContainerRecord* newest = nullptr;
  const v1::ContainerRecord* second = nullptr;
};

std::map<std::string, Seen> ByName(const v1::ObservedPod* observed) {
  std::map<std::string, Seen> seen;
  if (observed == nullptr) return seen;
  for (const auto& record : observed->containers()) {
    Seen& slot = seen[record.name()];
    if (slot.newest == nullptr) {
      slot.newest = &record;
    } else if (slot.second == nullptr) {
      slot.second = &record;
    }
  }
  return seen;
}

enum class Kind { kRegular, kInit, kEphemeral };

const google::protobuf::RepeatedPtrField<kube::ContainerStatus>& ListOf(
    const kube::PodStatus& status, Kind kind) {
  switch (kind) {
    case Kind::kRegular: return status.container_statuses();
    case Kind::kInit: return status.init_container_statuses();
    case Kind::kEphemeral: return status.ephemeral_container_statuses();
  }
  UNREACHABLE();
}

const kube::ContainerStatus* FindStatus(const kube::PodStatus* status, Kind kind,
                                        const std::string& name) {
  if (status == nullptr) return nullptr;
  const auto& list = ListOf(*status, kind);
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.name() == name; });
  return it == list.end() ? nullptr : &*it;
}

const v1::WaitingReason* FindWaitingReason(const v1::WorkerRecord* worker,
                                           const std::string& name) {
  if (worker == nullptr) return nullptr;
  const auto& reasons = worker->containers();
  const auto it = std::find_if(reasons.begin(), reasons.end(),
                               [&](const auto& reason) { return reason.name() == name; });
  return it == reasons.end() || it->reason().empty() ? nullptr : &*it;
}

/// A pod-worker of an earlier version writes the text alone.
bool IsOf(const v1::ProbeResult& result, v1::ProbeResult::Probe probe) {
  if (result.probe() != v1::ProbeResult::PROBE_UNSPECIFIED) return result.probe() == probe;
  return (probe == v1::ProbeResult::STARTUP && result.kind() == "startup") ||
         (probe == v1::ProbeResult::READINESS && result.kind() == "readiness");
}

/// The same.
bool IsOfPostStartHook(const v1::WaitingReason& reason) {
  if (reason.cause() != v1::WaitingReason::CAUSE_UNSPECIFIED)
    return reason.cause() == v1::WaitingReason::POST_START_HOOK;
  return reason.reason() == "PostStartHookError";
}

/// Result of a probe for the container with this id; nullptr: none yet.
const v1::ProbeResult* FindProbe(const v1::WorkerRecord* worker, const std::string& id,
                                 v1::ProbeResult::Probe probe) {
  if (worker == nullptr) return nullptr;
  for (const auto& result : worker->probes())
    if (result.container_id() == id && IsOf(result, probe)) return &result;
  return nullptr;
}

std::string IdOf(const v1::ObservedPod& observed, const v1::ContainerRecord& record) {
  return observed.runtime_name() + "://" + record.id();
}

constexpr std::string_view kLostWhileRunning =
    "The container could not be located when the pod was deleted.  The container used to be "
    "Running";

void SetLost(core::ContainerState* state, std::string_view message) {
  auto* terminated = state->mutable_terminated();
  terminated->set_exit_code(cri::kLostExitCode);
  terminated->set_reason(std::string(cri::kStatusUnknown));
  terminated->set_message(std::string(message));
}

core::ContainerState StateOf(const v1::ObservedPod& observed, const v1::ContainerRecord& record) {
  core::ContainerState state;
  if (record.state() == v1::ContainerRecord::RUNNING) {
    SetTime(state.mutable_running()->mutable_started_at(), record.started_at_ns());
  } else if (record.state() == v1::ContainerRecord::EXITED) {
    if (cri::IsLost(record)) {
      SetLost(&state, record.message());
      return state;
    }
    auto* ended = state.mutable_terminated();
    ended->set_exit_code(record.exit_code());
    if (!record.reason().empty()) ended->set_reason(record.reason());
    if (!record.message().empty()) ended->set_message(record.message());
    SetTime(ended->mutable_started_at(), record.started_at_ns());
    SetTime(ended->mutable_finished_at(), record.finished_at_ns());
    ended->set_container_id(IdOf(observed, record));
  } else {
    state.mutable_waiting();
  }
  return state;
}

/// Whether the handler of the pod's sandbox supports recursive read-only mounts; nullopt: unknown.
std::optional<bool> CanBeRecursive(const ContainerInputs& in) {
  if (in.features == nullptr || !in.features->known() || in.observed == nullptr ||
      in.observed->sandboxes().empty())
    return std::nullopt;
  const std::string& name = in.observed->sandboxes(0).runtime_handler();
  const auto& handlers = in.features->handlers();
  const auto found = std::find_if(handlers.begin(), handlers.end(),
                                  [&name](const auto& handler) { return handler.name() == name; });
  return found != handlers.end() && found->recursive_read_only_mounts();
}

/// "Enabled" stays: without the handler's support the container is not created.
std::string RecursiveReadOnly(const core::VolumeMount& mount, const ContainerInputs& in,
                              const kube::ContainerStatus* previous) {
  if (mount.recursive_read_only() == "Enabled") return "Enabled";
  if (mount.recursive_read_only() != "IfPossible") return "Disabled";
  if (const auto can = CanBeRecursive(in)) return *can ? "Enabled" : "Disabled";
  if (previous != nullptr)
    for (const auto& shown : previous->volume_mounts())
      if (shown.mount_path() == mount.mount_path() && shown.has_recursive_read_only())
        return shown.recursive_read_only();
  return "Disabled";
}

void SetMounts(const kube::Container& container, const ContainerInputs& in,
               const kube::ContainerStatus* previous, kube::ContainerStatus& status) {
  for (const auto& mount : container.volume_mounts()) {
    auto* shown = status.add_volume_mounts();
    shown->set_name(mount.name());
    shown->set_mount_path(mount.mount_path());
    if (!mount.read_only()) continue;
    shown->set_read_only(true);
    shown->set_recursive_read_only(RecursiveReadOnly(mount, in, previous));
  }
}

/// Shows the amount that the runtime has set; without one, the requested amount stays. `least`: the
/// kernel's minimum.
template <class Quantities>
void SetCpu(int64_t actual, int64_t least, Quantities& shown) {
  const auto cpu = shown.find(std::string(kube::kCpu));
  if (cpu == shown.end() || actual == 0) return;
  const auto asked = kube::Quantity::Parse(cpu->second.string());
  if (actual <= least && asked.ok() && asked->MilliValue() <= least) return;
  cpu->second.set_string(kube::Quantity::FromMilli(actual).ToString());
}

template <class Quantities>
void SetMemory(int64_t actual, Quantities& shown) {
  const auto memory = shown.find(std::string(kube::kMemory));
  if (memory == shown.end() || actual == 0) return;
  memory->second.set_string(
      kube::Quantity::FromInt(actual, kube::Quantity::Format::kBinary).ToString());
}

/// Builds the status of one container.
class Builder {
 public:
  Builder(const ContainerInputs& in, const kube::Container& container, Kind kind, Seen seen)
      : in_(in),
        container_(container),
        kind_(kind),
        seen_(seen),
        previous_(FindStatus(in.previous, kind, container.name())),
        mirror_(FindStatus(in.mirror, kind, container.name())) {}

  kube::ContainerStatus Build(bool any_regular_seen) {
    SetBase();
    if (seen_.newest != nullptr) {
      SetSeen();
    } else if (previous_ != nullptr) {
      SetMissing();
    }
    if (IsPlainInit()) SetInitDone(any_regular_seen);
    SetWaitingReason();
    kind_ == Kind::kEphemeral ? status_.set_ready(false) : SetFlags();
    return std::move(status_);
  }

 private:
  bool IsPlainInit() const { return kind_ == Kind::kInit && !kube::IsSidecar(container_); }

  void SetBase() {
    if (previous_ != nullptr && previous_->state().has_terminated()) {
      status_ = *previous_;
      return;
    }
    status_.set_name(container_.name());
    status_.set_image(container_.image());
    status_.set_image_id("");
    status_.set_restart_count(0);
    status_.mutable_last_state();
    SetBegins(status_);
    SetMounts(container_, in_, previous_, status_);
    if (previous_ == nullptr) return;
    status_.set_restart_count(previous_->restart_count());
    *status_.mutable_last_state() = previous_->last_state();
  }

  void SetBegins(kube::ContainerStatus& status) const {
    const bool initializing = in_.pod.spec().init_containers_size() > 0;
    status.mutable_state()->mutable_waiting()->set_reason(initializing ? "PodInitializing"
                                                                       : "ContainerCreating");
  }

  /// The container had a status and has no record: it is lost only if the observation covers it.
  void SetMissing() {
    if (!in_.covers) {
      status_ = *previous_;
      return;
    }
    if (in_.restarting) return SetRemoved();
    const bool was_running = previous_->state().has_running();
    if (!was_running || previous_->last_state().has_terminated()) return;
    SetLost(status_.mutable_last_state(), kLostWhileRunning);
    if (!in_.deleted) status_.set_restart_count(previous_->restart_count() + 1);
  }

  /// The container was removed because all containers restart.
  void SetRemoved() {
    if (previous_->state().has_waiting()) return;
    status_.clear_state();
    auto* waiting = status_.mutable_state()->mutable_waiting();
    waiting->set_reason(std::string(kRestartingAll));
    waiting->set_message(std::string(kRemovedToRestart));
    status_.clear_last_state();
    auto* ended = status_.mutable_last_state()->mutable_terminated();
    ended->set_exit_code(cri::kLostExitCode);
    ended->set_reason(std::string(kRestartingAll));
    ended->set_message(std::string(kRemovedToRestart));
    status_.set_restart_count(previous_->restart_count() + 1);
  }

  void SetSeen() {
    const auto& observed = *in_.observed;
    const auto& record = *seen_.newest;
    const bool had = previous_ != nullptr;
    // The last status shows how the container ended, before its record was lost.
    const bool end_was_shown = had && previous_->state().has_terminated() &&
                               previous_->restart_count() >= record.restart_count();
    if (cri::IsLost(record) && end_was_shown) return;
    kube::ContainerStatus status;
    status.set_name(container_.name());
    *status.mutable_state() = StateOf(observed, record);
    // A kubelet lists again only after the start, and so never shows Waiting without a reason.
    if (record.state() == v1::ContainerRecord::CREATED) SetBegins(status);
    status.mutable_last_state();
    if (!cri::IsLost(record)) status.set_container_id(IdOf(observed, record));
    status.set_image(record.image().empty() ? container_.image() : record.image());
    status.set_image_id(record.image_ref());
    status.set_restart_count(
        std::max(record.restart_count(), had ? previous_->restart_count() : 0));
    SetMounts(container_, in_, previous_, status);
    SetUser(record, status);
    SetResources(record, status);
    if (had) SetLastState(record, status);
    if (seen_.second != nullptr) *status.mutable_last_state() = StateOf(observed, *seen_.second);
    if (record.state() == v1::ContainerRecord::UNKNOWN && had && previous_->state().has_running()) {
      status.mutable_state()->Clear();
      SetLost(status.mutable_state(),
              "The container could not be located when the pod was terminated");
      status.set_restart_count(previous_->restart_count() + 1);
    }
    status_ = std::move(status);
  }

  /// The last container ran and was replaced without a record of its end: it is lost.
  void SetLastState(const v1::ContainerRecord& record, kube::ContainerStatus& status) const {
    auto& last = *status.mutable_last_state();
    last = previous_->last_state();
    if (previous_->container_id() == status.container_id()) return;
    if (previous_->state().has_terminated()) {
      last = previous_->state();
    } else if (previous_->state().has_running() && !cri::IsLost(record) && !in_.restarting &&
               record.restart_count() > previous_->restart_count()) {
      last.Clear();
      SetLost(&last, kLostWhileRunning);
    }
  }

  /// The record of an init container is gone, and a later container shows that it had finished.
  void SetInitDone(bool any_regular_seen) {
    if (in_.restarting) return;  // it runs again
    if (seen_.newest != nullptr || !any_regular_seen || !status_.state().has_waiting()) return;
    auto* ended = status_.mutable_state()->mutable_terminated();
    ended->set_exit_code(0);
    ended->set_reason("Completed");
    ended->set_message(
        "Unable to get init container status from container runtime and pod has been initialized, "
        "treat it as exited normally");
  }

  bool IsWaiting(const v1::WaitingReason& reason) const {
    if (in_.deleted) return false;
    if (kind_ == Kind::kEphemeral && seen_.newest != nullptr)
      return seen_.newest->state() == v1::ContainerRecord::CREATED;
    // The listing may not cover the container: a state that was shown, such as Running, stands.
    if (seen_.newest == nullptr) return status_.state().has_waiting();
    if (seen_.newest->state() == v1::ContainerRecord::RUNNING) return false;
    if (seen_.newest->state() != v1::ContainerRecord::EXITED) return true;
    const int32_t code = seen_.newest->exit_code();
    if (kind_ == Kind::kInit && code == 0) return false;
    // A container that was stopped to be replaced restarts even after exit code 0. It is shown as
    // waiting, because an API server refuses Running after a successful end. A failed postStart
    // hook leaves a waiting reason even if the container does not restart.
    if (!IsOfPostStartHook(reason)) return true;
    return kube::RestartsAfterExit(in_.pod, container_, code);
  }

  /// Shows why the container does not run yet: pull and start errors, back-off.
  void SetWaitingReason() {
    const v1::WaitingReason* reason = FindWaitingReason(in_.worker, container_.name());
    if (reason == nullptr || !IsWaiting(*reason)) return;
    if (status_.state().has_terminated()) *status_.mutable_last_state() = status_.state();
    status_.clear_state();
    auto* waiting = status_.mutable_state()->mutable_waiting();
    waiting->set_reason(reason->reason());
    if (!reason->message().empty()) waiting->set_message(reason->message());
  }

  /// The last status of the container with the same id, by this or another agent; nullptr: none.
  const kube::ContainerStatus* ShownBefore() const {
    for (const auto* shown : {previous_, mirror_})
      if (shown != nullptr && !status_.container_id().empty() &&
          shown->container_id() == status_.container_id())
        return shown;
    return nullptr;
  }

  void SetFlags() {
    bool started = false, ready = false;
    const bool running = status_.state().has_running();
    const kube::ContainerStatus* const shown = ShownBefore();
    if (running) started = IsStarted(shown);
    if (IsPlainInit()) {
      ready = status_.state().has_terminated() && status_.state().terminated().exit_code() == 0;
    } else if (started) {
      ready = IsReady(shown);
    }
    if (!in_.workers_live && running) {
      started = shown != nullptr && shown->started();
      ready = started && shown->ready();
    }
    status_.set_started(started);
    status_.set_ready(ready);
  }

  bool IsStarted(const kube::ContainerStatus* shown) const {
    if (!container_.has_startup_probe() || seen_.newest == nullptr) return true;
    const auto* result = FindProbe(in_.worker, seen_.newest->id(), v1::ProbeResult::STARTUP);
    if (result != nullptr) return result->success();
    return shown != nullptr && shown->started();
  }

  bool IsReady(const kube::ContainerStatus* shown) const {
    if (!container_.has_readiness_probe()) return true;
    if (seen_.newest == nullptr) return previous_ != nullptr && previous_->ready();
    const auto* result = FindProbe(in_.worker, seen_.newest->id(), v1::ProbeResult::READINESS);
    if (result != nullptr) return result->success();
    return shown != nullptr && shown->ready();
  }

  static void SetUser(const v1::ContainerRecord& record, kube::ContainerStatus& status) {
    if (!record.has_user()) return;
    auto& user = *status.mutable_user()->mutable_linux();
    user.set_uid(record.user().uid());
    user.set_gid(record.user().gid());
    *user.mutable_supplemental_groups() = record.user().supplemental_groups();
  }

  /// The allocated resources; for a running container those that the runtime has set.
  void SetResources(const v1::ContainerRecord& record, kube::ContainerStatus& status) const {
    if (!container_.has_resources()) return;
    const auto& asked = container_.resources();
    if (asked.requests_size() > 0) *status.mutable_allocated_resources() = asked.requests();
    auto& shown = *status.mutable_resources();
    shown = asked;
    shown.clear_claims();
    if (record.state() != v1::ContainerRecord::RUNNING || !record.has_resources()) return;
    const auto& actual = record.resources();
    SetCpu(actual.cpu_limit_millis(), kLeastCpuLimitMillis, *shown.mutable_limits());
    SetCpu(actual.cpu_request_millis(), kLeastCpuRequestMillis, *shown.mutable_requests());
    SetMemory(actual.memory_limit_bytes(), *shown.mutable_limits());
  }

  const ContainerInputs& in_;
  const kube::Container& container_;
  Kind kind_;
  Seen seen_;
  const kube::ContainerStatus* previous_;
  const kube::ContainerStatus* mirror_;
  kube::ContainerStatus status_;
};

/// Cuts between two UTF-8 characters.
void Cut(std::string* text, size_t limit) {
  if (text->size() <= limit) return;
  while (limit > 0 && (static_cast<unsigned char>((*text)[limit]) & 0xC0U) == 0x80U) --limit;
  text->resize(limit);
}

void CutMessages(const kube::Pod& pod, std::vector<kube::ContainerStatus>& statuses) {
  const int count = pod.spec().containers_size() + pod.spec().init_containers_size() +
                    pod.spec().ephemeral_containers_size();
  const size_t limit = kMessageBudget / static_cast<size_t>(std::max(count, 1));
  for (auto& status : statuses) {
    if (status.state().has_terminated() && status.state().terminated().has_message())
      Cut(status.mutable_state()->mutable_terminated()->mutable_message(), limit);
    if (status.last_state().has_terminated() && status.last_state().terminated().has_message())
      Cut(status.mutable_last_state()->mutable_terminated()->mutable_message(), limit);
  }
}

void Close(kube::ContainerStatus& status) {
  if (status.state().has_terminated()) return;
  status.clear_state();
  SetLost(status.mutable_state(), "The container could not be located when the pod was terminated");
  status.set_ready(false);
  status.set_started(false);
}

/// All init containers had ended: a regular container has started, or the last init container shows
/// it.
bool WasInitialized(const kube::Pod& pod, const ContainerStatuses& statuses) {
  if (pod.spec().init_containers_size() == 0) return true;
  const bool any = std::any_of(
      statuses.regular.begin(), statuses.regular.end(), [](const kube::ContainerStatus& status) {
        return !status.state().has_waiting() || status.last_state().has_terminated();
      });
  if (any || statuses.init.empty()) return any;
  const auto& last = statuses.init.back();
  const auto& spec = pod.spec().init_containers(pod.spec().init_containers_size() - 1);
  if (kube::IsSidecar(spec)) return last.state().has_running() && last.started();
  return last.state().has_terminated() && last.state().terminated().exit_code() == 0;
}

}  // namespace

ContainerStatuses ComputeContainers(const ContainerInputs& in) {
  auto seen = ByName(in.observed);
  const auto& spec = in.pod.spec();
  const bool any_regular =
      std::any_of(spec.containers().begin(), spec.containers().end(),
                  [&](const kube::Container& c) { return seen.contains(c.name()); });
  ContainerStatuses statuses;
  for (const auto& container : spec.init_containers())
    statuses.init.push_back(
        Builder(in, container, Kind::kInit, seen[container.name()]).Build(any_regular));
  for (const auto& container : spec.containers())
    statuses.regular.push_back(
        Builder(in, container, Kind::kRegular, seen[container.name()]).Build(any_regular));
  for (const auto& container : kube::EphemeralContainersOf(spec))
    statuses.ephemeral.push_back(
        Builder(in, container, Kind::kEphemeral, seen[container.name()]).Build(any_regular));
  for (auto* list : {&statuses.regular, &statuses.ephemeral})
    std::sort(list->begin(), list->end(),
              [](const auto& a, const auto& b) { return a.name() < b.name(); });
  for (auto* list : {&statuses.init, &statuses.regular, &statuses.ephemeral})
    CutMessages(in.pod, *list);
  return statuses;
}

void CloseContainers(const kube::Pod& pod, ContainerStatuses& statuses) {
  if (WasInitialized(pod, statuses)) {
    for (auto& status : statuses.regular) Close(status);
  }
  // Close init containers up to the last that ever started; if none did, the first one.
  size_t last = 0;
  for (size_t i = 0; i < statuses.init.size(); ++i)
    if (!statuses.init[i].state().has_waiting() || statuses.init[i].last_state().has_terminated())
      last = i;
  for (size_t i = 0; i < statuses.init.size() && i <= last; ++i) Close(statuses.init[i]);
}

const core::ContainerStateTerminated* EndOf(const kube::ContainerStatus& status) {
  if (status.state().has_terminated()) return &status.state().terminated();
  if (status.state().has_waiting() && status.last_state().has_terminated())
    return &status.last_state().terminated();
  return nullptr;
}

bool AllRestart(const kube::Pod& pod, const v1::ObservedPod* observed) {
  if (observed == nullptr || !kube::MayRestartAll(pod)) return false;
  const auto any_restarts = [&](const auto& containers) {
    for (const kube::Container& container : containers)
      for (const auto& record : observed->containers())
        if (record.name() == container.name() && cri::RestartsAll(container, record)) return true;
    return false;
  };
  return any_restarts(pod.spec().containers()) || any_restarts(pod.spec().init_containers());
}

bool IsInitialized(const kube::Pod& pod, const v1::ObservedPod* observed) {
  if (observed == nullptr) return false;
  for (const auto& sandbox : observed->sandboxes()) {
    if (sandbox.state() != v1::SandboxRecord::READY) continue;
    const auto in_sandbox = [&](const v1::ContainerRecord& record) {
      if (record.sandbox_id() != sandbox.id()) return false;
      const auto& regular = pod.spec().containers();
      return std::any_of(regular.begin(), regular.end(),
                         [&](const kube::Container& c) { return c.name() == record.name(); });
    };
    return std::any_of(observed->containers().begin(), observed->containers().end(), in_sandbox);
  }
  return false;
}

}  // namespace splitlet::status
