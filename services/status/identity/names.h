#pragma once

/// Whom the certificates of a node are for.
/// Threads: any; pure.
/// Source: kubelet pkg/kubelet/certificate.

#include <string>
#include <vector>

#include "libs/x509/names.h"

namespace splitlet::status {

/// As in the status of a Node: type "InternalIP", "Hostname" and so on.
struct NodeAddress {
  std::string type, address;
  bool operator==(const NodeAddress&) const = default;
};

/// "system:node:<name>" of "system:nodes".
x509::Names ClientNames(const std::string& node_name);
/// The same, reached by these addresses: sorted, each once.
x509::Names ServerNames(const std::string& node_name, const std::vector<NodeAddress>& addresses);

}  // namespace splitlet::status
