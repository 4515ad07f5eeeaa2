#include "services/status/node/host_addresses.h"

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/node/ip_family.h"

namespace splitlet::status {
namespace {

/// The first address, and the first of the other family; internal addresses before external ones.
std::vector<std::string> OneOfEachFamily(const std::vector<NodeAddress>& addresses) {
  std::vector<std::string> ips;
  const auto is_wanted = [&ips](const std::string& ip) {
    return ips.empty() || (ips.size() == 1 && node::IsIpv6(ips.front()) != node::IsIpv6(ip));
  };
  for (const char* type : {"InternalIP", "ExternalIP"})
    for (const auto& one : addresses)
      if (one.type == type && is_wanted(one.address)) ips.push_back(one.address);
  return ips;
}

}  // namespace

std::vector<NodeAddress> AddressesOf(const kube::Node& node) {
  std::vector<NodeAddress> addresses;
  for (const auto& one : node.status().addresses())
    addresses.push_back({.type = one.type(), .address = one.address()});
  return addresses;
}

std::vector<std::string> HostIps(const HostAddresses& in) {
  if (!in.external_cloud) return in.machine;
  if (!in.server) return {};
  std::vector<std::string> ips = OneOfEachFamily(*in.server);
  return ips.empty() ? in.machine : ips;
}

std::vector<NodeAddress> CertificateAddresses(const HostAddresses& in, bool server_bootstrap,
                                              const std::string& node_name) {
  const bool has_cloud = in.external_cloud && in.server && !in.server->empty();
  if (has_cloud) return *in.server;
  if (in.external_cloud && server_bootstrap) return {};
  std::vector<NodeAddress> addresses;
  for (const std::string& ip : in.machine)
    addresses.push_back({.type = "InternalIP", .address = ip});
  addresses.push_back({.type = "Hostname", .address = node_name});
  return addresses;
}

}  // namespace splitlet::status
