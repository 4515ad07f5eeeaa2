#include "services/pod-worker/runtime_config/container.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/environment.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/resources.h"

namespace splitlet::pod_worker {

namespace {

constexpr size_t kMaxHostName = 63;
constexpr size_t kMaxFqdn = 64;

runtime::v1::Protocol ProtocolOf(const std::string& text) {
  if (text == "UDP") return runtime::v1::UDP;
  return text == "SCTP" ? runtime::v1::SCTP : runtime::v1::TCP;
}

void SetPorts(const kube::Pod& pod, runtime::v1::PodSandboxConfig& out) {
  for (const auto& container : pod.spec().containers()) {
    std::set<std::string> names;
    std::set<std::tuple<int, std::string, int, int>> unnamed;
    for (const auto& port : container.ports()) {
      const auto protocol = ProtocolOf(port.protocol());
      const bool fresh =
          port.name().empty()
              ? unnamed.emplace(protocol, port.host_ip(), port.container_port(), port.host_port())
                    .second
              : names.insert(port.name()).second;
      if (!fresh) continue;
      auto& mapping = *out.add_port_mappings();
      mapping.set_protocol(protocol);
      mapping.set_container_port(port.container_port());
      mapping.set_host_port(port.host_port());
      mapping.set_host_ip(port.host_ip());
    }
  }
}

template <class Map>
void SetMap(const cri::StringMap& from, Map* to) {
  for (const auto& [key, value] : from) (*to)[key] = value;
}

StatusOr<runtime::v1::MountPropagation> PropagationOf(const std::string& mode) {
  if (mode.empty() || mode == "None") return runtime::v1::PROPAGATION_PRIVATE;
  if (mode == "HostToContainer") return runtime::v1::PROPAGATION_HOST_TO_CONTAINER;
  if (mode == "Bidirectional") return runtime::v1::PROPAGATION_BIDIRECTIONAL;
  return InvalidArgument("unknown mount propagation \"{}\"", mode);
}

std::string Absolute(const std::string& path) { return path.starts_with('/') ? path : "/" + path; }

/// Made by us, so that it may be given the container's label.
bool IsEmptyDir(const kube::Pod& pod, const std::string& name) {
  const auto& volumes = pod.spec().volumes();
  return std::any_of(volumes.begin(), volumes.end(), [&name](const kube::Volume& volume) {
    return volume.name() == name && volume.volume_source().has_empty_dir();
  });
}

Status AddVolumeMount(const ContainerInput& in, const k8s::io::api::core::v1::VolumeMount& mount,
                      runtime::v1::ContainerConfig& out) {
  const auto found = in.files.volumes.find(mount.name());
  if (found == in.files.volumes.end())
    return InvalidArgument("cannot find volume \"{}\" to mount into container \"{}\"", mount.name(),
                           in.container.name());
  if (!mount.sub_path().empty() || !mount.sub_path_expr().empty())
    return InvalidArgument("subPath of volumeMount \"{}\" of container \"{}\" is not supported",
                           mount.name(), in.container.name());
  if (mount.recursive_read_only() == "Enabled")
    return InvalidArgument("recursiveReadOnly of volumeMount \"{}\" is not supported",
                           mount.name());
  const auto propagation = PropagationOf(mount.mount_propagation());
  if (!propagation.ok()) return propagation.status();
  auto& to = *out.add_mounts();
  to.set_container_path(Absolute(mount.mount_path()));
  to.set_host_path(found->second);
  to.set_readonly(mount.read_only());
  to.set_propagation(*propagation);
  to.set_selinux_relabel(in.node.selinux && IsEmptyDir(in.pod, mount.name()));
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
  for (const auto& mount : in.container.volume_mounts()) {
    const Status added = AddVolumeMount(in, mount, out);
    if (!added.ok()) return added;
    own_hosts = own_hosts || mount.mount_path() == "/etc/hosts";
  }
  if (!own_hosts && !in.files.hosts_file.empty())
    AddFileMount("/etc/hosts", in.files.hosts_file, in, out);
  if (!in.files.termination_log.empty())
    AddFileMount(Absolute(in.container.termination_message_path()), in.files.termination_log, in,
                 out);
  return OkStatus();
}

Status SetCommand(const ContainerInput& in, runtime::v1::ContainerConfig& out) {
  const auto environment = MakeEnvironment({in.pod, in.container, in.node, in.pod_ips});
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

}  // namespace

StatusOr<HostNames> HostNamesOf(const kube::Pod& pod, const std::string& cluster_domain) {
  const auto& spec = pod.spec();
  HostNames names{.host = spec.hostname().empty() ? pod.metadata().name() : spec.hostname()};
  if (!spec.hostname_override().empty()) names.host = spec.hostname_override();
  names.host.resize(std::min(names.host.size(), kMaxHostName));
  while (names.host.ends_with('-') || names.host.ends_with('.')) names.host.pop_back();
  if (!spec.hostname_override().empty()) return names;
  if (!spec.subdomain().empty())
    names.domain =
        fmt::format("{}.{}.svc.{}", spec.subdomain(), pod.metadata().namespace_(), cluster_domain);
  if (spec.set_hostname_as_fqdn() && !names.domain.empty()) {
    const std::string full = names.host + "." + names.domain;
    if (full.size() > kMaxFqdn)
      return InvalidArgument(
          "failed to construct FQDN from pod hostname and cluster domain, FQDN {} is too long "
          "({} characters is the max, {} characters requested)",
          full, kMaxFqdn, full.size());
  }
  return names;
}

Status MakeSandboxConfig(const SandboxInput& in, runtime::v1::PodSandboxConfig& out) {
  const auto& meta = in.pod.metadata();
  out.mutable_metadata()->set_name(meta.name());
  out.mutable_metadata()->set_namespace_(meta.namespace_());
  out.mutable_metadata()->set_uid(meta.uid());
  out.mutable_metadata()->set_attempt(in.attempt);
  if (!in.pod.spec().host_network()) {
    const auto names = HostNamesOf(in.pod, in.node.cluster_domain);
    if (!names.ok()) return names.status();
    const bool full = in.pod.spec().set_hostname_as_fqdn() && !names->domain.empty();
    out.set_hostname(full ? names->host + "." + names->domain : names->host);
  }
  out.set_log_directory(PodLogDirectory(in.node.pod_logs_dir, in.pod));
  for (const auto& server : in.dns.servers) out.mutable_dns_config()->add_servers(server);
  for (const auto& search : in.dns.searches) out.mutable_dns_config()->add_searches(search);
  for (const auto& option : in.dns.options) out.mutable_dns_config()->add_options(option);
  SetPorts(in.pod, out);
  SetMap(SandboxLabels(in.pod), out.mutable_labels());
  SetMap(SandboxAnnotations(in.pod, in.node.annotation, in.incarnation), out.mutable_annotations());
  SetPodResources(in.pod, in.node, out);
  SetSandboxSecurity(in.pod, out);
  return OkStatus();
}

std::string HostsFile(const kube::Pod& pod, const std::vector<std::string>& ips,
                      const HostNames& names, const std::string& node_file) {
  std::string text;
  if (pod.spec().host_network()) {
    text = "# Kubernetes-managed hosts file (host network).\n" + node_file;
  } else {
    text =
        "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost "
        "ip6-loopback\n"
        "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-"
        "allrouters\n";
    for (const std::string& ip : ips)
      text += names.domain.empty()
                  ? fmt::format("{}\t{}\n", ip, names.host)
                  : fmt::format("{0}\t{1}.{2}\t{1}\n", ip, names.host, names.domain);
  }
  if (pod.spec().host_aliases_size() == 0) return text;
  text += "\n# Entries added by HostAliases.\n";
  for (const auto& alias : pod.spec().host_aliases()) {
    text += alias.ip();
    for (const auto& name : alias.hostnames()) text += "\t" + name;
    text += "\n";
  }
  return text;
}

Status MakeContainerConfig(const ContainerInput& in, runtime::v1::ContainerConfig& out) {
  const auto& container = in.container;
  out.mutable_metadata()->set_name(container.name());
  out.mutable_metadata()->set_attempt(in.attempt);
  out.mutable_image()->set_image(in.image_ref);
  out.mutable_image()->set_user_specified_image(container.image());
  if (const Status command = SetCommand(in, out); !command.ok()) return command;
  out.set_working_dir(container.working_dir());
  if (const Status mounts = SetMounts(in, out); !mounts.ok()) return mounts;
  SetMap(ContainerLabels(in.pod, container.name()), out.mutable_labels());
  SetMap(ContainerAnnotations(in.pod, container, in.restart_count, in.incarnation),
         out.mutable_annotations());
  out.set_log_path(ContainerLogPath(container.name(), in.attempt));
  out.set_stdin(container.stdin());
  out.set_stdin_once(container.stdin_once());
  out.set_tty(container.tty());
  SetContainerResources(in.pod, container, in.node, *out.mutable_linux()->mutable_resources());
  return SetSecurityContext(in, *out.mutable_linux()->mutable_security_context());
}

}  // namespace splitlet::pod_worker
