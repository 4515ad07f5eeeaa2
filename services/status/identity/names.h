#pragma once

/// The names in the certificates of a node.
/// Threads: any; pure.
/// Source: kubelet pkg/kubelet/certificate.

#include <string>
#include <vector>

#include "libs/x509/names.h"

namespace splitlet::status {

/// An address of a Node's status; types are "InternalIP", "Hostname" and so on.
struct NodeAddress {
  std::string type, address;
  bool operator==(const NodeAddress&) const = default;
};

/// Common name "system:node:<name>", organization "system:nodes".
x509::Names ClientNames(const std::string& node_name);
/// Adds these addresses to the client names: sorted, without duplicates.
x509::Names ServerNames(const std::string& node_name, const std::vector<NodeAddress>& addresses);

}  // namespace splitlet::status
