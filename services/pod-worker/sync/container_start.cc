#include "services/pod-worker/sync/container_start.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/hash.h"
#include "libs/base/trace.h"
#include "libs/kube/env_file.h"
#include "libs/kube/image_name.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/images/credentials.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/records/started_attempts.h"
#include "services/pod-worker/runtime_config/container.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/sandbox.h"
#include "services/pod-worker/runtime_config/security.h"
#include "services/pod-worker/sync/plan/attempts.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kHostsMode = 0644;
constexpr uint32_t kTerminationLogMode = 0666;
constexpr uint64_t kMaxHostsFile = 1u << 20;
constexpr size_t kMaxEnvFiles = 1u << 20;  // of a container, together

std::string TypeOf(const ContainerStart& start) {
  switch (start.kind) {
    case ContainerKind::kRegular: return "container";
    case ContainerKind::kInit:
    case ContainerKind::kSidecar: return "init_container";
    case ContainerKind::kEphemeral: return "ephemeral_container";
  }
  UNREACHABLE();
}

const kube::Container* FindContainer(const auto& containers, const std::string& name) {
  const auto found = std::ranges::find_if(
      containers, [&name](const kube::Container& container) { return container.name() == name; });
  return found == containers.end() ? nullptr : &*found;
}

bool IsInit(ContainerKind kind) {
  return kind == ContainerKind::kInit || kind == ContainerKind::kSidecar;
}

bool Mounts(const kube::Container& container, const std::string& volume) {
  return std::ranges::any_of(container.volume_mounts(),
                             [&volume](const auto& mount) { return mount.name() == volume; });
}

/// Each attempt has another id, and would make another event.
std::string WithoutId(std::string text, const std::string& id, const std::string& name) {
  if (id.empty()) return text;
  for (size_t at = text.find(id); at != std::string::npos; at = text.find(id, at + name.size()))
    text.replace(at, id.size(), name);
  return text;
}

}  // namespace

Status RemoveContainer(cri::Remover& remover, const cri::ContainerId& id, Deadline deadline) {
  FAIL_POINT("pod-worker.remove-container.before");
  const Status removed = remover.RemoveContainer(id, std::move(deadline));
  FAIL_POINT("pod-worker.remove-container.after");
  return removed.code() == StatusCode::kNotFound ? OkStatus() : removed;
}

Status MakeLogDir(fs::FileSystem& files, const NodeInfo& node, const std::string& path) {
  CHECK(path.starts_with(node.pod_logs_dir + "/"), "{}", path);
  return Annotate(
      files.MakeDirsBelow(node.pod_logs_dir, path.substr(node.pod_logs_dir.size()), kLogDirMode),
      "make log directory");
}

Status ContainerStarter::StartAll(const PodActions& todo) {
  Status status = StartEach(todo);
  MarkVolumeImagesUsed();
  return status;
}

/// Containers whose own images are being pulled start with what was pulled for this sync too.
void ContainerStarter::MarkVolumeImagesUsed() {
  std::set<std::string> waiting;
  for (const auto* images : {&out_.pulls, &out_.awaited})
    for (const auto& [image, containers] : *images)
      waiting.insert(containers.begin(), containers.end());
  waiting.erase("");
  for (const auto& image : used_for_volumes_) out_.used_pulls[image] = waiting;
}

/// By a container that has all its images.
void ContainerStarter::UseVolumeImages() {
  for (const auto& volume : context_.pod.spec().volumes()) {
    const auto answer = volume_images_.find(volume.name());
    if (answer != volume_images_.end() && answer->second.pulled)
      used_for_volumes_.insert(volume.volume_source().image().reference());
  }
}

Status ContainerStarter::StartEach(const PodActions& todo) {
  for (const auto* list : {&todo.start_ephemeral, &todo.start_init, &todo.start}) {
    for (const auto& start : *list) {
      const Result result = StartOne(start);
      if (result == Result::kStarted && start.kind == ContainerKind::kSidecar)
        started_sidecar_ = true;
      if (EndsSync(start.kind, result)) return first_error_;
    }
  }
  return first_error_;
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

ContainerStarter::Result ContainerStarter::Fail(const ContainerStart& start,
                                                const std::string& reason, const Status& status,
                                                const std::string& id) {
  const std::string message = Message(status);
  context_.events.Warning("Failed", fmt::format("Error: {}", WithoutId(message, id, start.name)),
                          start.name);
  out_.waiting_reasons[start.name] = WaitingReason{reason, message, std::nullopt};
  context_.deps.metrics.CountStartError(TypeOf(start), reason);
  if (first_error_.ok())
    first_error_ =
        MakeStatus(status.code(), "failed to \"StartContainer\" for \"{}\" with {}: \"{}\"",
                   start.name, reason, message);
  return Result::kFailed;
}

ContainerStarter::Result ContainerStarter::GiveUp(const Status& why) {
  if (first_error_.ok()) first_error_ = Cancelled("the pod is ending: {}", Message(why));
  return Result::kFailed;
}

ContainerStarter::Result ContainerStarter::StartOne(const ContainerStart& asked) {
  ContainerStart start = asked;
  SetNumbers(start);
  const kube::Container* container = Find(start);
  CHECK(container != nullptr, "{} is not in the pod", start.name);
  if (BacksOff(*container, start)) return Result::kWaits;
  cri::ContainerId id(start.created_id);
  if (id.empty()) {
    ImageRefs images;
    if (!ResolveImages(*container, images)) return Result::kWaits;
    context_.deps.metrics.CountStart(TypeOf(start));
    const Created created = Create(*container, start, images);
    const Status& made = created.id.status();
    if (made.code() == StatusCode::kCancelled && context_.input.ending->cancelled())
      return GiveUp(made);
    if (!made.ok()) {
      if (created.part == CreatePart::kCreation && SandboxDied())
        return LeaveDeadSandbox(start, id);
      return Fail(start, ReasonOf(created.part), made);
    }
    id = *created.id;
    // The container that just exited may have ended with its sandbox. The runtime shows the dead
    // sandbox last.
    if (!start.exited_id.empty() && SandboxDied()) return LeaveDeadSandbox(start, id);
    context_.events.Normal("Created", "Container created", start.name);
  }
  const cri::StartedAttempts before = out_.started_attempts;
  if (const Status saved = RememberStart(*container, start); !saved.ok())
    return Fail(start, "RunContainerError", saved);
  LogIfMadeBefore(start);
  if (const Status started = StartInRuntime(id); !started.ok()) {
    // Given up because the pod ends: no failure of the container.
    if (context_.input.ending->cancelled()) return GiveUp(started);
    if (SandboxDied()) {
      // A container that did not run is not remembered. Killed before this, or if this cannot be
      // saved, it counts as one that has run and ended unseen.
      context_.deps.log.LogIfError(
          SaveStartedAttempts(context_.deps.records, ThisPod(), before, out_.started_attempts),
          "forget a container that never ran");
      return LeaveDeadSandbox(start, id);
    }
    return Fail(start, "RunContainerError", started, id.str());
  }
  started_any_ = true;
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
  LinkLog(start.name, id, *start.attempt);
  if (container->lifecycle().has_post_start()) {
    out_.post_start = StartedContainer{id.str(), start.name, IsInit(start.kind),
                                       context_.ips.empty() ? "" : context_.ips.front()};
    return Result::kHooked;
  }
  return Result::kStarted;
}

/// The runtime may still be in a call of the process before, and its error for the end of that call
/// names no cause.
void ContainerStarter::LogIfMadeBefore(const ContainerStart& start) const {
  if (!context_.input.first || start.created_id.empty()) return;
  context_.deps.log.Info(
      "starting a container that was made before pod-worker started",
      {KV("pod", kube::PodKey(context_.pod)), KV("podUID", context_.pod.metadata().uid()),
       KV("containerName", start.name), KV("containerID", start.created_id),
       KV(kTraceIdField, TraceIdOf(context_.input.traceparent))});
}

bool ContainerStarter::BacksOff(const kube::Container& container, const ContainerStart& start) {
  if (start.exited_id.empty() || !start.created_id.empty()) return false;
  const bool unhealthy = IsUnhealthy(context_.input.probes, start.exited_id);
  if (out_.restarts.replacing.contains(start.exited_id) && !unhealthy) return false;
  const Duration age{
      std::max<int64_t>(ToNanos(context_.deps.clock.WallNow()) - start.exited_at_ns, 0)};
  const Clock::Time now = context_.deps.clock.Now();
  const auto wait = out_.restarts.backoff.WaitAfter(BackoffKey(context_.pod, container),
                                                    {start.exited_id, age}, now);
  if (wait.left <= Duration{0}) return false;
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
  if (!out_.retry_at || until < *out_.retry_at) out_.retry_at = until;
  return true;
}

/// All image volumes of the pod, once in a sync (again only where an answer is kept for others) and
/// before anything starts: all are asked for before any is waited for. False: one is being pulled.
bool ContainerStarter::EnsureVolumeImages(const std::string& container) {
  for (const auto& volume : context_.pod.spec().volumes()) {
    if (!volume.volume_source().has_image()) continue;
    const auto known = volume_images_.find(volume.name());
    if (known != volume_images_.end() &&
        (known->second.kept_for.empty() || known->second.kept_for.contains(container)))
      continue;
    const auto& source = volume.volume_source().image();
    auto answer = images_.Resolve({source.reference(), source.pull_policy(), "", container});
    if (answer.failed) out_.used_pulls[source.reference()] = {};
    volume_images_.insert_or_assign(volume.name(), std::move(answer));
  }
  return std::ranges::all_of(volume_images_, [](const auto& volume) {
    return volume.second.usable || volume.second.failed;
  });
}

/// An image that was pulled for a container counts as used when the container lacks nothing any
/// more, whether it starts or not; so does an image for volumes.
bool ContainerStarter::ResolveImages(const kube::Container& container, ImageRefs& refs) {
  if (!EnsureVolumeImages(container.name())) return false;
  bool all = true;
  for (const auto& [volume, answer] : volume_images_) {
    if (!Mounts(container, volume)) continue;
    if (answer.failed) WaitFor(*answer.failed, container.name());
    all = all && answer.usable;
    refs.volumes[volume] = answer.ref;
  }
  if (!all) return false;
  auto own = images_.Resolve(
      {container.image(), container.image_pull_policy(), container.name(), container.name()});
  image_ = own.image;
  refs.own = std::move(own.ref);
  if (own.failed) WaitFor(*own.failed, container.name());
  if (own.pulled) out_.used_pulls[container.image()] = {};
  if (own.usable) UseVolumeImages();
  return own.usable;
}

void ContainerStarter::WaitFor(const ImageFailure& failed, const std::string& container) {
  const auto& [reason, message, until, cause] = failed.reason;
  if (!failed.backs_off || !failed.backed_off.contains(container))
    context_.events.Warning("Failed", fmt::format("Error: {}", reason), container);
  if (failed.backs_off) out_.backed_off[failed.image].insert(container);
  out_.waiting_reasons[container] = failed.reason;
  if (!failed.sync_at) {
    if (first_error_.ok()) first_error_ = FailedPrecondition("{}: {}", reason, message);
  } else if (!out_.retry_at || *failed.sync_at < *out_.retry_at) {
    out_.retry_at = failed.sync_at;
  }
}

/// On disk before the start that it allows: killed after this, the same exit is not waited for
/// again.
Status ContainerStarter::SaveBackoff(const kube::Container& container,
                                     const ContainerStart& start) {
  if (start.exited_id.empty()) return OkStatus();
  const Duration age{
      std::max<int64_t>(ToNanos(context_.deps.clock.WallNow()) - start.exited_at_ns, 0)};
  const bool changed = out_.restarts.backoff.Advance(
      BackoffKey(context_.pod, container), {start.exited_id, age}, context_.deps.clock.Now());
  if (!changed) return OkStatus();
  return context_.deps.records.SaveRestart(context_.pod.metadata().uid(),
                                           context_.input.incarnation, out_.restarts);
}

/// On disk before the start: a container that is gone afterwards has run.
Status ContainerStarter::RememberStart(const kube::Container& container,
                                       const ContainerStart& start) {
  if (start.kind != ContainerKind::kEphemeral && !IsRemembered(context_.pod, container))
    return OkStatus();
  cri::StartedAttempts next = out_.started_attempts;
  auto& known = next[start.name];
  if (known.begun_at_ns != 0 && known.attempt == *start.attempt) return OkStatus();
  known = {*start.attempt, static_cast<int32_t>(*start.restart_count),
           ToNanos(context_.deps.clock.WallNow())};
  return SaveStartedAttempts(context_.deps.records, ThisPod(), std::move(next),
                             out_.started_attempts);
}

/// The runtime may lack attempts: it lost its records, or another program removed a container. The
/// log files are left, and like a kubelet pod-worker counts on from them. If the records belong to
/// an earlier incarnation, the restart count starts from 0.
void ContainerStarter::SetNumbers(ContainerStart& start) {
  const uint32_t after_logs = AttemptFromLogs(start.name);
  const bool no_record = !start.attempt;
  if (no_record) {
    start.attempt = after_logs;
  } else if (start.created_id.empty() && after_logs > *start.attempt) {
    if (start.restart_count) *start.restart_count += after_logs - *start.attempt;
    start.attempt = after_logs;
  }
  if (!start.restart_count) start.restart_count = no_record ? *start.attempt : 0;
}

uint32_t ContainerStarter::AttemptFromLogs(const std::string& container) {
  const auto listed = context_.deps.files.List(
      fmt::format("{}/{}", context_.sandbox_config.log_directory(), container));
  std::vector<std::string> names;
  if (listed.ok())
    for (const auto& entry : *listed)
      if (entry.kind == fs::FileInfo::Kind::kFile) names.push_back(entry.name);
  return RestartCountFromLogs(names);
}

StatusOr<std::string> ContainerStarter::WriteHostsFile() {
  const bool host_network = context_.pod.spec().host_network();
  if (context_.ips.empty() && !host_network) return "";
  auto& files = context_.deps.files;
  std::string node_file;
  if (host_network) {
    auto read = files.Read("/etc/hosts", kMaxHostsFile);
    if (read.ok()) node_file = std::move(read).value();
  }
  ASSIGN_OR_RETURN(const auto names, HostNamesOf(context_.pod, context_.deps.node.cluster_domain),
                   "host name");
  const std::string path = context_.pod_dir + "/etc-hosts";
  const std::string content = HostsFile(context_.pod, context_.ips, names, node_file);
  const auto old = files.Read(path, kMaxHostsFile);
  if (old.ok() && *old == content) return path;
  // Containers that run have it mounted and may write it. Were another file put in its place, what
  // they write would be counted nowhere.
  Status written = files.Overwrite(path, content);
  if (written.code() == StatusCode::kNotFound || written.code() == StatusCode::kInvalidArgument)
    written = files.Replace(path, content, {.mode = kHostsMode});
  if (!written.ok()) return Annotate(written, "write " + path);
  return path;
}

/// The processes of another container are seen only where each container has its own.
Status ContainerStarter::SetTarget(const std::string& ephemeral,
                                   runtime::v1::ContainerConfig& config) const {
  const std::string target = kube::TargetOf(context_.pod.spec(), ephemeral);
  if (target.empty()) return OkStatus();
  for (const auto& record : out_.seen->containers()) {
    if (record.name() != target || cri::IsLost(record)) continue;
    if (cri::IsEarlier(record.incarnation(), context_.input.incarnation)) continue;
    auto& options =
        *config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
    if (options.pid() != runtime::v1::CONTAINER) return OkStatus();
    options.set_pid(runtime::v1::TARGET);
    options.set_target_id(record.id());
    return OkStatus();
  }
  return NotFound("unable to find target container {}", target);
}

/// Read for each attempt: a container that ran before may have written them.
EnvFiles ContainerStarter::ReadEnvFiles(const kube::Container& container) {
  EnvFiles read;
  size_t room = kMaxEnvFiles;
  for (const auto& variable : container.env()) {
    if (!variable.value_from().has_file_key_ref()) continue;
    const auto& file = variable.value_from().file_key_ref();
    const auto volume = context_.volumes.find(file.volume_name());
    const std::pair key(file.volume_name(), file.path());
    if (volume == context_.volumes.end() || read.contains(key)) continue;
    auto text = context_.deps.read_within(volume->second, file.path(), kube::kMaxEnvFile);
    if (text.ok() && text->size() > room)
      text = ResourceExhausted("the container's files are longer than {} bytes", kMaxEnvFiles);
    if (text.ok()) room -= text->size();
    read.emplace(key, std::move(text));
  }
  return read;
}

/// Its environment is made only where a path is made of it.
StatusOr<std::map<int, std::string>> ContainerStarter::BindSubPaths(
    const kube::Container& container, const EnvFiles& env_files) {
  std::map<std::string, std::string> environment;
  if (HasSubPathExpr(container)) {
    const auto made = MakeEnvironment({context_.pod, container, context_.deps.node, Addresses(),
                                       env_files, context_.input.objects.get()});
    if (!made.ok()) return made.status();
    environment.insert(made->begin(), made->end());
  }
  auto places = context_.deps.volumes.BindSubPaths(
      {container, context_.volumes, environment, context_.pod_dir});
  if (!places.ok()) return places;
  // The runtime itself finds the part of an image volume.
  const auto parts = SubPathsOf(container, environment);
  if (!parts.ok()) return parts.status();
  for (const auto& part : *parts) places->emplace(part.mount, part.path);
  return places;
}

/// One per attempt; the name depends on nothing else, so that a second try after a crash meets the
/// same file.
std::string ContainerStarter::MakeTerminationLog(const kube::Container& container,
                                                 uint32_t attempt) {
  if (container.termination_message_path().empty()) return "";
  const std::string path =
      fmt::format("{}/containers/{}/{:08x}", context_.pod_dir, container.name(),
                  Fnv1a32(fmt::format("{}/{}", container.name(), attempt)));
  const Status made = context_.deps.files.Replace(path, "", {.mode = kTerminationLogMode});
  context_.deps.log.LogIfError(made, "make termination log");
  return made.ok() ? path : "";
}

Status ContainerStarter::FillConfig(const kube::Container& container, const ContainerStart& start,
                                    const ImageRefs& images, runtime::v1::ContainerConfig& config) {
  ASSIGN_OR_RETURN(const auto hosts, WriteHostsFile(), "hosts file");
  EnvFiles env_files = ReadEnvFiles(container);
  auto sub_paths = BindSubPaths(container, env_files);
  if (!sub_paths.ok()) return sub_paths.status();
  const ContainerFiles files{context_.volumes,
                             hosts,
                             MakeTerminationLog(container, *start.attempt),
                             std::move(env_files),
                             *std::move(sub_paths),
                             images.volumes};
  std::optional<cri::Image> image;
  if (NeedsImageUser(context_.pod, container)) {
    image = image_;
    if (!image) {
      ASSIGN_OR_RETURN(image, context_.deps.images.ImageStatus({images.own}, Soon()),
                       "user of the image");
    }
  }
  const ContainerInput input{context_.pod,
                             container,
                             context_.deps.node,
                             files,
                             Addresses(),
                             images.own,
                             image,
                             *start.restart_count,
                             *start.attempt,
                             context_.input.incarnation,
                             context_.input.objects.get(),
                             context_.isolation};
  if (const Status made = MakeContainerConfig(input, config); !made.ok()) return made;
  if (const std::string profile = SeccompFileOf(input); !profile.empty()) {
    // Runtimes report it in different ways, and some after the container was made.
    const auto there = context_.deps.files.Stat(profile, true);
    if (!there.ok())
      return FailedPrecondition("cannot load seccomp profile \"{}\": {}", profile,
                                Message(there.status()));
  }
  if (start.kind == ContainerKind::kEphemeral) {
    if (const Status set = SetTarget(start.name, config); !set.ok()) return set;
  }
  return MakeLogDir(context_.deps.files, context_.deps.node,
                    context_.sandbox_config.log_directory() + "/" + container.name());
}

const char* ContainerStarter::ReasonOf(CreatePart part) {
  switch (part) {
    case CreatePart::kConfig: return "CreateContainerConfigError";
    case CreatePart::kCreation: return "CreateContainerError";
  }
  UNREACHABLE();
}

Status ContainerStarter::PrepareCreation(const kube::Container& container,
                                         const ContainerStart& start) {
  for (const std::string& id : start.remove)
    RETURN_IF_ERROR(RemoveContainer(context_.deps.remover, cri::ContainerId(id), Soon()),
                    "remove container {}", id);
  RETURN_IF_ERROR(SaveBackoff(container, start), "back-off");
  return OkStatus();
}

ContainerStarter::Created ContainerStarter::Create(const kube::Container& container,
                                                   const ContainerStart& start,
                                                   const ImageRefs& images) {
  if (const Status removed = PrepareCreation(container, start); !removed.ok())
    return {removed, CreatePart::kCreation};
  runtime::v1::ContainerConfig config;
  if (const Status filled = FillConfig(container, start, images, config); !filled.ok())
    return {filled, CreatePart::kConfig};
  if (context_.input.ending->cancelled())
    return {Cancelled("the pod is ending"), CreatePart::kCreation};
  return {CreateInRuntime(config, ContainerHash(container)), CreatePart::kCreation};
}

StatusOr<cri::ContainerId> ContainerStarter::CreateInRuntime(
    const runtime::v1::ContainerConfig& config, const std::string& hash) {
  FAIL_POINT("pod-worker.create-container.before");
  out_.acted = true;
  auto id = context_.deps.runner.CreateContainer(cri::SandboxId(context_.sandbox_id), config,
                                                 context_.sandbox_config, SoonUnlessEnding());
  FAIL_POINT("pod-worker.create-container.after");
  if (id.status().code() != StatusCode::kAlreadyExists) return id;
  return FindCreated(config, hash);
}

/// A call whose answer was lost has taken the name. Never a higher number: that would be a restart
/// that did not happen.
StatusOr<cri::ContainerId> ContainerStarter::FindCreated(const runtime::v1::ContainerConfig& config,
                                                         const std::string& hash) {
  ASSIGN_OR_RETURN(const auto seen,
                   context_.deps.observer.Observe(context_.pod.metadata().uid(), Soon()),
                   "find the container");
  for (const auto& record : seen.containers()) {
    const bool same = record.name() == config.metadata().name() &&
                      record.attempt() == config.metadata().attempt();
    if (same && record.hash() == hash && record.state() == v1::ContainerRecord::CREATED)
      return cri::ContainerId(record.id());
  }
  return Aborted("the name of the container is still reserved");
}

Status ContainerStarter::StartInRuntime(const cri::ContainerId& id) {
  if (context_.input.ending->cancelled()) return Cancelled("the pod is ending");
  FAIL_POINT("pod-worker.start-container.before");
  out_.acted = true;
  const Status started = context_.deps.runner.StartContainer(id, SoonUnlessEnding());
  FAIL_POINT("pod-worker.start-container.after");
  return started;
}

/// A runtime that stops a sandbox kills its containers one after the other and the sandbox last;
/// until then nothing but the exits shows it.
bool ContainerStarter::SandboxDied() const {
  const auto sandbox =
      context_.deps.reader.PodSandboxStatus(cri::SandboxId(context_.sandbox_id), Soon());
  if (!sandbox.ok()) return sandbox.status().code() == StatusCode::kNotFound;
  return sandbox->state != cri::SandboxState::kReady;
}

/// The container has not failed and never ran: its attempt is that of the next sandbox.
ContainerStarter::Result ContainerStarter::LeaveDeadSandbox(const ContainerStart& start,
                                                            const cri::ContainerId& id) {
  out_.trouble = SyncTrouble::kSandboxDied;
  context_.deps.log.Info(
      "sandbox died while a container was made in it, the next sync replaces it",
      {KV("pod", kube::PodKey(context_.pod)), KV("podUID", context_.pod.metadata().uid()),
       KV("containerName", start.name), KV("sandboxID", context_.sandbox_id),
       KV(kTraceIdField, TraceIdOf(context_.input.traceparent))});
  if (id.empty()) return Result::kSandboxDied;
  context_.deps.log.LogIfError(RemoveContainer(context_.deps.remover, id, Soon()),
                               "remove a container that never ran");
  const std::string log =
      context_.sandbox_config.log_directory() + "/" + ContainerLogPath(start.name, *start.attempt);
  context_.deps.log.LogIfError(context_.deps.files.Remove(log),
                               "remove the log of a container that never ran");
  return Result::kSandboxDied;
}

void ContainerStarter::LinkLog(const std::string& container, const cri::ContainerId& id,
                               uint32_t attempt) {
  if (context_.deps.node.container_links_dir.empty()) return;
  auto& files = context_.deps.files;
  const std::string log =
      context_.sandbox_config.log_directory() + "/" + ContainerLogPath(container, attempt);
  if (!files.Stat(log, true).ok()) return;
  const std::string& dir = context_.deps.node.container_links_dir;
  const std::string link = dir + "/" + LogLinkName(context_.pod, container, id.str());
  Status linked = files.MakeSymlink(log, link);
  if (linked.code() == StatusCode::kNotFound) {  // the first link of this node
    linked = files.MakeDirs(dir, kLogDirMode);
    if (linked.ok()) linked = files.MakeSymlink(log, link);
  }
  if (linked.code() != StatusCode::kAlreadyExists)
    context_.deps.log.LogIfError(linked, "link container log");
}

}  // namespace splitlet::pod_worker
