#include "services/pod-worker/runtime_config/downward.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "libs/kube/quantity.h"
#include "libs/node/ip_family.h"
#include "services/pod-worker/runtime_config/quoted_text.h"
#include "services/pod-worker/runtime_config/resources.h"

namespace splitlet::pod_worker {

namespace {

using k8s::io::api::core::v1::ResourceFieldSelector;

/// The first address of the node's family, then the first of the other family.
std::vector<std::string> InNodesOrder(const std::vector<std::string>& ips,
                                      const std::vector<std::string>& node_ips) {
  if (ips.empty() || node_ips.empty()) return ips;
  std::vector<std::string> ordered;
  const bool node_v6 = node::IsIpv6(node_ips.front());
  for (const bool v6 : {node_v6, !node_v6}) {
    const auto first =
        std::ranges::find_if(ips, [&](const std::string& ip) { return node::IsIpv6(ip) == v6; });
    if (first != ips.end()) ordered.push_back(*first);
  }
  return ordered;
}

/// Sorted lines: key="value".
template <class Map>
std::string Lines(const Map& map) {
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  std::string text;
  for (const auto& [key, value] : sorted) {
    if (!text.empty()) text += '\n';
    text += key + "=" + GoQuoted(value);
  }
  return text;
}

template <class Map>
std::string ValueOf(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

/// Sets `key` to k for "metadata.labels['k']" and prefix "metadata.labels". False: another form.
bool Subscript(const std::string& path, const std::string& prefix, std::string& key) {
  if (!path.starts_with(prefix + "['") || !path.ends_with("']")) return false;
  key = path.substr(prefix.size() + 2, path.size() - prefix.size() - 4);
  return true;
}

const kube::Container* FindContainer(const DownwardInput& in, const std::string& name,
                                     bool& regular) {
  regular = true;
  if (in.container != nullptr && (name.empty() || name == in.container->name()))
    return in.container;
  for (const auto& container : in.pod.spec().containers())
    if (container.name() == name) return &container;
  regular = false;
  for (const auto& container : in.pod.spec().init_containers())
    if (container.name() == name) return &container;
  return nullptr;
}

/// The limit that counts where a container has none: the pod's, else the node's.
int64_t DefaultLimit(const DownwardInput& in, const std::string& name, bool milli) {
  if (const auto pod_limit = LimitOf(in.pod.spec().resources(), name, milli)) return *pod_limit;
  const NodeInfo::Allocatable& node = in.node.allocatable;
  if (name == "cpu") return node.cpu_millicores;
  if (name == "memory") return node.memory_bytes;
  return name == "ephemeral-storage" ? node.storage_bytes : 0;
}

/// Never empty: a container that needs an address of the node waits until it is known.
StatusOr<std::string> AddressValue(const std::string& path, const DownwardInput& in) {
  const bool host_ip = path == "status.hostIP" || path == "status.hostIPs";
  const bool pod_ip = path == "status.podIP" || path == "status.podIPs";
  if (!host_ip && !pod_ip) return InvalidArgument("unsupported fieldPath: {}", path);
  const bool of_node = host_ip || in.pod.spec().host_network();
  if (of_node && in.ips.host.empty()) return Unavailable("host IP unknown; known addresses: []");
  const auto ips =
      host_ip ? in.ips.host : InNodesOrder(of_node ? in.ips.host : in.ips.pod, in.ips.host);
  if (path.ends_with("IPs")) return fmt::format("{}", fmt::join(ips, ","));
  return ips.empty() ? "" : ips.front();
}

}  // namespace

StatusOr<std::string> FieldValue(const std::string& path, const DownwardInput& in) {
  const auto& meta = in.pod.metadata();
  std::string key;
  if (path == "metadata.name") return meta.name();
  if (path == "metadata.namespace") return meta.namespace_();
  if (path == "metadata.uid") return meta.uid();
  if (path == "metadata.labels") return Lines(meta.labels());
  if (path == "metadata.annotations") return Lines(meta.annotations());
  if (Subscript(path, "metadata.labels", key)) return ValueOf(meta.labels(), key);
  if (Subscript(path, "metadata.annotations", key)) return ValueOf(meta.annotations(), key);
  if (path == "spec.nodeName") return in.node.name;
  if (path == "spec.serviceAccountName") return in.pod.spec().service_account_name();
  return AddressValue(path, in);
}

StatusOr<std::string> ResourceValue(const ResourceFieldSelector& selector,
                                    const DownwardInput& in) {
  bool defaulted = true;
  const kube::Container* container = FindContainer(in, selector.container_name(), defaulted);
  if (container == nullptr)
    return InvalidArgument("container {} not found", selector.container_name());
  const std::string& path = selector.resource();
  const bool limit = path.starts_with("limits."), request = path.starts_with("requests.");
  if (!limit && !request) return InvalidArgument("unsupported container resource : {}", path);
  const std::string name = path.substr(path.find('.') + 1);
  const bool milli = name == "cpu";
  std::optional<int64_t> value = limit ? LimitOf(container->resources(), name, milli)
                                       : RequestOf(container->resources(), name, milli);
  if (!value && limit && defaulted) value = DefaultLimit(in, name, milli);
  auto divisor = kube::Quantity::Parse(selector.divisor().string());
  int64_t unit = divisor.ok() ? (milli ? divisor->MilliValue() : divisor->Value()) : 0;
  if (unit <= 0) unit = milli ? 1000 : 1;
  const int64_t amount = value.value_or(0);
  return std::to_string(amount / unit + (amount % unit != 0 ? 1 : 0));
}

}  // namespace splitlet::pod_worker
