#include "services/pod-worker/sync/container_start.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/ephemeral.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/names.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kRunError = "RunContainerError";

const kube::Container* FindContainer(const auto& containers, const std::string& name) {
  const auto found = std::ranges::find_if(
      containers, [&name](const kube::Container& container) { return container.name() == name; });
  return found == containers.end() ? nullptr : &*found;
}

bool IsInit(ContainerKind kind) {
  return kind == ContainerKind::kInit || kind == ContainerKind::kSidecar;
}

}  // namespace

ContainerStarter::ContainerStarter(StartContext context, SyncOutcome& out)
    : context_(std::move(context)),
      out_(out),
      ephemerals_(kube::EphemeralContainersOf(context_.pod.spec())),
      reports_(context_, out),
      numbers_(context_, reports_, out),
      images_(context_, reports_, out),
      configs_(context_, out),
      calls_(context_, out),
      logs_({context_.deps.files, context_.deps.node, context_.deps.log}, context_.pod) {}

Status ContainerStarter::StartAll(const PodActions& todo) {
  StartEach(todo);
  images_.MarkVolumeImagesUsed();
  return reports_.first_error();
}

void ContainerStarter::StartEach(const PodActions& todo) {
  for (const auto* list : {&todo.start_ephemeral, &todo.start_init, &todo.start}) {
    for (const auto& start : *list) {
      const Result result = StartOne(start);
      if (result == Result::kStarted && start.kind == ContainerKind::kSidecar)
        started_sidecar_ = true;
      if (EndsSync(start.kind, result)) return;
    }
  }
}

bool ContainerStarter::EndsSync(ContainerKind kind, Result result) {
  switch (result) {
    case Result::kStarted: return false;
    case Result::kHooked:
    case Result::kSandboxDied: return true;
    case Result::kWaits:
    case Result::kFailed: return kind == ContainerKind::kInit;
  }
  UNREACHABLE();
}

const kube::Container* ContainerStarter::Find(const ContainerStart& start) const {
  const auto& spec = context_.pod.spec();
  switch (start.kind) {
    case ContainerKind::kRegular: return FindContainer(spec.containers(), start.name);
    case ContainerKind::kInit:
    case ContainerKind::kSidecar: return FindContainer(spec.init_containers(), start.name);
    case ContainerKind::kEphemeral: return FindContainer(ephemerals_, start.name);
  }
  UNREACHABLE();
}

ContainerStarter::Result ContainerStarter::StartOne(ContainerStart start) {
  numbers_.Set(start);
  const kube::Container* container = Find(start);
  CHECK(container != nullptr, "{} is not in the pod", start.name);
  if (numbers_.BacksOff(*container, start)) return Result::kWaits;
  cri::ContainerId id(start.created_id);
  if (id.empty()) {
    if (const auto not_made = Create(*container, start, id)) return *not_made;
  }
  const Result result = StartCreated(*container, start, id);
  return result == Result::kStarted ? AwaitHook(*container, start, id) : result;
}

const char* ContainerStarter::ReasonOf(CreatePart part) {
  switch (part) {
    case CreatePart::kConfig: return "CreateContainerConfigError";
    case CreatePart::kCreation: return "CreateContainerError";
  }
  UNREACHABLE();
}

std::optional<ContainerStarter::Result> ContainerStarter::Create(const kube::Container& container,
                                                                 const ContainerStart& start,
                                                                 cri::ContainerId& id) {
  const auto images = images_.Resolve(container);
  if (!images) return Result::kWaits;
  context_.deps.metrics.CountStart(TypeOf(start));
  const auto not_made = [&](CreatePart part, const Status& why) {
    if (why.code() == StatusCode::kCancelled && context_.Ending()) return GiveUp(why);
    if (part == CreatePart::kCreation && calls_.SandboxDied()) return LeaveDeadSandbox(start, id);
    return Fail(start, ReasonOf(part), why);
  };
  if (const Status ready = PrepareCreation(container, start); !ready.ok())
    return not_made(CreatePart::kCreation, ready);
  runtime::v1::ContainerConfig config;
  if (const Status filled = configs_.Make(container, start, *images, config); !filled.ok())
    return not_made(CreatePart::kConfig, filled);
  const auto made = calls_.Create(config, ContainerHash(container));
  if (!made.ok()) return not_made(CreatePart::kCreation, made.status());
  id = *made;
  // The container that just exited may have ended with its sandbox. The runtime shows the dead
  // sandbox last.
  if (!start.exited_id.empty() && calls_.SandboxDied()) return LeaveDeadSandbox(start, id);
  reports_.Created(start);
  return std::nullopt;
}

Status ContainerStarter::PrepareCreation(const kube::Container& container,
                                         const ContainerStart& start) {
  for (const std::string& id : start.remove)
    RETURN_IF_ERROR(calls_.Remove(cri::ContainerId(id)), "remove container {}", id);
  RETURN_IF_ERROR(numbers_.SaveBackoff(container, start), "back-off");
  return OkStatus();
}

ContainerStarter::Result ContainerStarter::StartCreated(const kube::Container& container,
                                                        const ContainerStart& start,
                                                        const cri::ContainerId& id) {
  cri::StartedAttempts before = out_.started_attempts;
  if (const Status saved = numbers_.RememberStart(container, start); !saved.ok())
    return Fail(start, kRunError, saved);
  reports_.Starts(start);
  if (const Status started = calls_.Start(id); !started.ok()) {
    if (context_.Ending()) return GiveUp(started);
    if (!calls_.SandboxDied()) return Fail(start, kRunError, started, id.str());
    numbers_.ForgetStart(std::move(before));
    return LeaveDeadSandbox(start, id);
  }
  started_any_ = true;
  reports_.Started(start, id);
  logs_.Link({start.name, id.str()}, LogOf(start));
  return Result::kStarted;
}

/// The caller of the sync runs the hook.
ContainerStarter::Result ContainerStarter::AwaitHook(const kube::Container& container,
                                                     const ContainerStart& start,
                                                     const cri::ContainerId& id) {
  if (!container.lifecycle().has_post_start()) return Result::kStarted;
  out_.post_start = StartedContainer{id.str(), start.name, IsInit(start.kind),
                                     context_.ips.empty() ? "" : context_.ips.front()};
  return Result::kHooked;
}

/// The container has not failed and never ran: its attempt is that of the next sandbox.
ContainerStarter::Result ContainerStarter::LeaveDeadSandbox(const ContainerStart& start,
                                                            const cri::ContainerId& id) {
  out_.trouble = SyncTrouble::kSandboxDied;
  reports_.SandboxDied(start);
  if (id.empty()) return Result::kSandboxDied;
  context_.deps.log.LogIfError(calls_.Remove(id), "remove a container that never ran");
  context_.deps.log.LogIfError(context_.deps.files.Remove(LogOf(start)),
                               "remove the log of a container that never ran");
  return Result::kSandboxDied;
}

ContainerStarter::Result ContainerStarter::GiveUp(const Status& why) {
  reports_.GivenUp(why);
  return Result::kFailed;
}

ContainerStarter::Result ContainerStarter::Fail(const ContainerStart& start,
                                                const std::string& reason, const Status& status,
                                                const std::string& id) {
  reports_.Failed(start, {reason, status, id});
  return Result::kFailed;
}

std::string ContainerStarter::LogOf(const ContainerStart& start) const {
  return context_.sandbox_config.log_directory() + "/" +
         ContainerLogPath(start.name, *start.attempt);
}

}  // namespace splitlet::pod_worker
