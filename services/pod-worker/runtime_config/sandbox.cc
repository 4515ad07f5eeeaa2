#include "services/pod-worker/runtime_config/sandbox.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/resources.h"
#include "services/pod-worker/runtime_config/security.h"

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
  for (const auto& [key, value] : SandboxLabels(in.pod)) (*out.mutable_labels())[key] = value;
  for (const auto& [key, value] : SandboxAnnotations(in.pod, in.node.annotation, in.incarnation))
    (*out.mutable_annotations())[key] = value;
  SetPodResources(in.pod, in.node, out);
  if (!in.cgroup_parent.empty()) out.mutable_linux()->set_cgroup_parent(in.cgroup_parent);
  SetSandboxSecurity(in.pod, in.isolation, out);
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

}  // namespace splitlet::pod_worker
