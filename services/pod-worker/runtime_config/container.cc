#include "services/pod-worker/runtime_config/container.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/pod/volume_traits.h"
#include "services/pod-worker/runtime_config/environment.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/resources.h"
#include "services/pod-worker/runtime_config/security.h"

namespace splitlet::pod_worker {

namespace {

StatusOr<runtime::v1::MountPropagation> PropagationOf(const std::string& mode) {
  if (mode.empty() || mode == "None") return runtime::v1::PROPAGATION_PRIVATE;
  if (mode == "HostToContainer") return runtime::v1::PROPAGATION_HOST_TO_CONTAINER;
  if (mode == "Bidirectional") return runtime::v1::PROPAGATION_BIDIRECTIONAL;
  return InvalidArgument("invalid MountPropagation mode: \"{}\"", mode);
}

StatusOr<bool> RecursiveReadOnly(const k8s::io::api::core::v1::VolumeMount& mount, bool can) {
  const std::string& mode = mount.recursive_read_only();
  if (mode.empty() || mode == "Disabled") return false;
  const std::string asked =
      fmt::format("volume \"{}\" requested recursive read-only mode, but it is ", mount.name());
  if (!mount.read_only()) return InvalidArgument("{}not read-only", asked);
  const std::string& propagation = mount.mount_propagation();
  if (!propagation.empty() && propagation != "None")
    return InvalidArgument("{}not compatible with propagation \"{}\"", asked, propagation);
  if (mode == "IfPossible") return can;
  if (mode != "Enabled") return InvalidArgument("unknown recursive read-only mode \"{}\"", mode);
  if (!can) return InvalidArgument("{}not supported by the runtime", asked);
  return true;
}

std::string Absolute(const std::string& path) { return path.starts_with('/') ? path : "/" + path; }

/// Empty: the pod has no such volume.
const k8s::io::api::core::v1::VolumeSource& SourceOf(const kube::Pod& pod,
                                                     const std::string& name) {
  for (const auto& volume : pod.spec().volumes())
    if (volume.name() == name) return volume.volume_source();
  return k8s::io::api::core::v1::VolumeSource::default_instance();
}

/// The runtime mounts an image itself, and always read-only.
void AddImageMount(const ContainerInput& in, int index, runtime::v1::ContainerConfig& out) {
  const auto& mount = in.container.volume_mounts(index);
  auto& to = *out.add_mounts();
  to.set_container_path(Absolute(mount.mount_path()));
  to.set_readonly(true);
  auto& image = *to.mutable_image();
  image.set_image(in.files.images.at(mount.name()));
  image.set_user_specified_image(SourceOf(in.pod, mount.name()).image().reference());
  *image.mutable_annotations() = in.pod.metadata().annotations();
  if (const auto part = in.files.sub_paths.find(index); part != in.files.sub_paths.end())
    to.set_image_sub_path(part->second);
}

Status AddVolumeMount(const ContainerInput& in, int index, runtime::v1::ContainerConfig& out) {
  const auto& mount = in.container.volume_mounts(index);
  if (in.files.images.contains(mount.name())) {
    AddImageMount(in, index, out);
    return OkStatus();
  }
  const auto found = in.files.volumes.find(mount.name());
  if (found == in.files.volumes.end())
    return InvalidArgument("cannot find volume \"{}\" to mount into container \"{}\"", mount.name(),
                           in.container.name());
  const auto part = in.files.sub_paths.find(index);
  if (part == in.files.sub_paths.end() && !mount.sub_path().empty())
    return Internal("subPath of volumeMount \"{}\" of container \"{}\" is not prepared",
                    mount.name(), in.container.name());
  const auto propagation = PropagationOf(mount.mount_propagation());
  if (!propagation.ok()) return propagation.status();
  const auto recursive = RecursiveReadOnly(mount, in.isolation.recursive_read_only);
  if (!recursive.ok())
    return InvalidArgument("failed to resolve recursive read-only mode: {}",
                           std::string(recursive.status().message()));
  auto& to = *out.add_mounts();
  to.set_container_path(Absolute(mount.mount_path()));
  to.set_host_path(part == in.files.sub_paths.end() ? found->second : part->second);
  const auto& source = SourceOf(in.pod, mount.name());
  to.set_readonly(mount.read_only() || ShowsObjects(source) ||
                  source.persistent_volume_claim().read_only());
  to.set_recursive_read_only(*recursive);
  to.set_propagation(*propagation);
  // pod-worker made these directories, so the container's label may be put on them.
  to.set_selinux_relabel(in.node.selinux && (source.has_empty_dir() || ShowsObjects(source)));
  return OkStatus();
}

void AddFileMount(const std::string& container_path, const std::string& host_path,
                  const ContainerInput& in, runtime::v1::ContainerConfig& out) {
  auto& mount = *out.add_mounts();
  mount.set_container_path(container_path);
  mount.set_host_path(host_path);
  mount.set_selinux_relabel(in.node.selinux);
}

Status SetMounts(const ContainerInput& in, runtime::v1::ContainerConfig& out) {
  bool own_hosts = false;
  for (int i = 0; i < in.container.volume_mounts_size(); ++i) {
    const Status added = AddVolumeMount(in, i, out);
    if (!added.ok()) return added;
    own_hosts = own_hosts || in.container.volume_mounts(i).mount_path() == "/etc/hosts";
  }
  if (!own_hosts && !in.files.hosts_file.empty())
    AddFileMount("/etc/hosts", in.files.hosts_file, in, out);
  if (!in.files.termination_log.empty())
    AddFileMount(Absolute(in.container.termination_message_path()), in.files.termination_log, in,
                 out);
  return OkStatus();
}

Status SetDevices(const ContainerInput& in, runtime::v1::ContainerConfig& out) {
  for (const auto& asked : in.container.volume_devices()) {
    const auto found = in.files.volumes.find(asked.name());
    if (found == in.files.volumes.end())
      return InvalidArgument("cannot find volume \"{}\" to pass into container \"{}\"",
                             asked.name(), in.container.name());
    const bool read_only = SourceOf(in.pod, asked.name()).persistent_volume_claim().read_only();
    auto& device = *out.add_devices();
    device.set_container_path(asked.device_path());
    device.set_host_path(found->second);
    device.set_permissions(read_only ? "r" : "mrw");
  }
  return OkStatus();
}

Status SetCommand(const ContainerInput& in, runtime::v1::ContainerConfig& out) {
  const auto environment = MakeEnvironment({.pod = in.pod,
                                            .container = in.container,
                                            .node = in.node,
                                            .ips = in.ips,
                                            .files = in.files.env_files,
                                            .objects = in.objects});
  if (!environment.ok()) return environment.status();
  std::map<std::string, std::string> known;
  for (const auto& [name, value] : *environment) {
    auto& variable = *out.add_envs();
    variable.set_key(name);
    variable.set_value(value);
    known[name] = value;
  }
  for (const auto& word : in.container.command()) out.add_command(Expand(word, known));
  for (const auto& word : in.container.args()) out.add_args(Expand(word, known));
  return OkStatus();
}

/// "SIGRTMIN+1" is SIGNAL_SIGRTMINPLUS1 in CRI. A runtime that does not know the field uses the
/// image's signal.
Status SetStopSignal(const kube::Container& container, runtime::v1::ContainerConfig& out) {
  const std::string& asked = container.lifecycle().stop_signal();
  if (asked.empty()) return OkStatus();
  std::string name = "SIGNAL_";
  for (const char c : asked) {
    if (c == '+' || c == '-') {
      name += c == '+' ? "PLUS" : "MINUS";
    } else {
      name += c;
    }
  }
  runtime::v1::Signal signal{};
  if (!runtime::v1::Signal_Parse(name, &signal))
    return InvalidArgument("lifecycle.stopSignal: \"{}\" is not a signal", asked);
  out.set_stop_signal(signal);
  return OkStatus();
}

}  // namespace

Status MakeContainerConfig(const ContainerInput& in, runtime::v1::ContainerConfig& out) {
  const auto& container = in.container;
  out.mutable_metadata()->set_name(container.name());
  out.mutable_metadata()->set_attempt(in.attempt);
  out.mutable_image()->set_image(in.image_ref);
  out.mutable_image()->set_user_specified_image(container.image());
  if (const Status command = SetCommand(in, out); !command.ok()) return command;
  out.set_working_dir(container.working_dir());
  if (const Status mounts = SetMounts(in, out); !mounts.ok()) return mounts;
  if (const Status devices = SetDevices(in, out); !devices.ok()) return devices;
  MapMounts(in.isolation, out);
  for (const auto& [key, value] : ContainerLabels(in.pod, container.name()))
    (*out.mutable_labels())[key] = value;
  for (const auto& [key, value] :
       ContainerAnnotations(in.pod, container, in.restart_count, in.incarnation))
    (*out.mutable_annotations())[key] = value;
  out.set_log_path(ContainerLogPath(container.name(), in.attempt));
  out.set_stdin(container.stdin());
  out.set_stdin_once(container.stdin_once());
  out.set_tty(container.tty());
  if (const Status signal = SetStopSignal(container, out); !signal.ok()) return signal;
  SetContainerResources(in.pod, container, in.node, *out.mutable_linux()->mutable_resources());
  return SetSecurityContext(in, *out.mutable_linux()->mutable_security_context());
}

}  // namespace splitlet::pod_worker
