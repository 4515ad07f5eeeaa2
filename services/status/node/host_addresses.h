#pragma once

/// Which addresses of the node count: for pods, and for the node's serving certificate. Pure.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/node.md, "Addresses"; kubelet getHostIPsAnyWay, nodeutil
///         GetNodeHostIPs.

#include <optional>
#include <string>
#include <vector>

#include "libs/kube/pod_types.h"
#include "services/status/identity/names.h"

namespace splitlet::status {

/// The addresses in the status of a Node.
std::vector<NodeAddress> AddressesOf(const kube::Node& node);

struct HostAddresses {
  /// An external cloud provider sets the addresses of the Node.
  bool external_cloud = false;
  const std::vector<std::string>& machine;  // found on this machine
  /// The addresses of the Node at the server; nothing: it was not shown since the start.
  const std::optional<std::vector<NodeAddress>>& server;
};

/// The addresses that pods show, the primary one first. With an external cloud provider: one of
/// each family at most; the machine's if the Node at the server has none; none until the server
/// has shown the Node, because its cloud addresses may exist and be unknown here.
std::vector<std::string> HostIps(const HostAddresses& in);

/// With an external cloud provider: those of the Node at the server, because a signer compares the
/// certificate with them. While there are none, a certificate that the node signs itself names the
/// machine's addresses. `server_bootstrap`: a signer signs it.
std::vector<NodeAddress> CertificateAddresses(const HostAddresses& in, bool server_bootstrap,
                                              const std::string& node_name);

}  // namespace splitlet::status
