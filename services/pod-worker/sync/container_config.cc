#include "services/pod-worker/sync/container_config.h"

#include <optional>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/hash.h"
#include "libs/kube/env_file.h"
#include "libs/kube/ephemeral.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/sandbox.h"
#include "services/pod-worker/runtime_config/security.h"
#include "services/pod-worker/sync/container_logs.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kHostsMode = 0644;
constexpr uint32_t kTerminationLogMode = 0666;
constexpr uint64_t kMaxHostsFile = 1u << 20;
constexpr size_t kMaxEnvFiles = 1u << 20;  // of a container, together

}  // namespace

Status ContainerConfigMaker::Make(const kube::Container& container, const ContainerStart& start,
                                  const ContainerImageRefs& images,
                                  runtime::v1::ContainerConfig& config) const {
  auto files = MakeFiles(container, *start.attempt, images);
  if (!files.ok()) return files.status();
  std::optional<cri::Image> image;
  if (NeedsImageUser(context_.pod, container)) {
    image = images.image;
    if (!image) {
      ASSIGN_OR_RETURN(image, context_.deps.images.ImageStatus({images.own}, context_.Soon()),
                       "user of the image");
    }
  }
  const ContainerInput input{.pod = context_.pod,
                             .container = container,
                             .node = context_.deps.node,
                             .files = *files,
                             .ips = Addresses(),
                             .image_ref = images.own,
                             .image = image,
                             .restart_count = *start.restart_count,
                             .attempt = *start.attempt,
                             .incarnation = context_.input.incarnation,
                             .objects = context_.input.objects.get(),
                             .isolation = context_.isolation};
  if (const Status made = MakeContainerConfig(input, config); !made.ok()) return made;
  if (const Status there = CheckSeccompFile(input); !there.ok()) return there;
  if (start.kind == ContainerKind::kEphemeral) {
    if (const Status set = SetTarget(start.name, config); !set.ok()) return set;
  }
  return MakeLogDir(context_.deps.files, context_.deps.node,
                    context_.sandbox_config.log_directory() + "/" + container.name());
}

StatusOr<ContainerFiles> ContainerConfigMaker::MakeFiles(const kube::Container& container,
                                                         uint32_t attempt,
                                                         const ContainerImageRefs& images) const {
  ASSIGN_OR_RETURN(auto hosts, WriteHostsFile(), "hosts file");
  EnvFiles env_files = ReadEnvFiles(container);
  auto sub_paths = BindSubPaths(container, env_files);
  if (!sub_paths.ok()) return sub_paths.status();
  return ContainerFiles{.volumes = context_.volumes,
                        .hosts_file = std::move(hosts),
                        .termination_log = MakeTerminationLog(container, attempt),
                        .env_files = std::move(env_files),
                        .sub_paths = *std::move(sub_paths),
                        .images = images.volumes};
}

StatusOr<std::string> ContainerConfigMaker::WriteHostsFile() const {
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

/// Read for each attempt: a container that ran before may have written them.
EnvFiles ContainerConfigMaker::ReadEnvFiles(const kube::Container& container) const {
  EnvFiles read;
  size_t left = kMaxEnvFiles;
  for (const auto& variable : container.env()) {
    if (!variable.value_from().has_file_key_ref()) continue;
    const auto& file = variable.value_from().file_key_ref();
    const auto volume = context_.volumes.find(file.volume_name());
    const std::pair key(file.volume_name(), file.path());
    if (volume == context_.volumes.end() || read.contains(key)) continue;
    auto text = context_.deps.read_within(volume->second, file.path(), kube::kMaxEnvFile);
    if (text.ok() && text->size() > left)
      text = ResourceExhausted("the container's files are longer than {} bytes", kMaxEnvFiles);
    if (text.ok()) left -= text->size();
    read.emplace(key, std::move(text));
  }
  return read;
}

/// Its environment is made only where a path is made of it.
StatusOr<std::map<int, std::string>> ContainerConfigMaker::BindSubPaths(
    const kube::Container& container, const EnvFiles& env_files) const {
  std::map<std::string, std::string> environment;
  if (HasSubPathExpr(container)) {
    const auto made = MakeEnvironment({.pod = context_.pod,
                                       .container = container,
                                       .node = context_.deps.node,
                                       .ips = Addresses(),
                                       .files = env_files,
                                       .objects = context_.input.objects.get()});
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

/// Each attempt has a file of its own. Its name depends on nothing else, so that a second try after
/// a crash meets the same file.
std::string ContainerConfigMaker::MakeTerminationLog(const kube::Container& container,
                                                     uint32_t attempt) const {
  if (container.termination_message_path().empty()) return "";
  const std::string path =
      fmt::format("{}/containers/{}/{:08x}", context_.pod_dir, container.name(),
                  Fnv1a32(fmt::format("{}/{}", container.name(), attempt)));
  const Status made = context_.deps.files.Replace(path, "", {.mode = kTerminationLogMode});
  context_.deps.log.LogIfError(made, "make termination log");
  return made.ok() ? path : "";
}

/// Runtimes report a missing profile in different ways, and some after the container was made.
Status ContainerConfigMaker::CheckSeccompFile(const ContainerInput& input) const {
  const std::string profile = SeccompFileOf(input);
  if (profile.empty()) return OkStatus();
  const auto there = context_.deps.files.Stat(profile, true);
  if (there.ok()) return OkStatus();
  return FailedPrecondition("cannot load seccomp profile \"{}\": {}", profile,
                            Message(there.status()));
}

/// The processes of another container are seen only where each container has its own.
Status ContainerConfigMaker::SetTarget(const std::string& ephemeral,
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

}  // namespace splitlet::pod_worker
