#pragma once

/// The addresses of this node, as a kubelet finds them.
/// Threads: any; List and Read ask the kernel. Errors are the reason only.
/// Source: docs/behaviour/node.md, "Addresses".

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::node {

struct InterfaceAddress {
  std::string interface, address;
  bool v6 = false;
  bool up = true, loopback = false;  // of the interface
};
using ListAddresses = std::function<StatusOr<std::vector<InterfaceAddress>>()>;

/// Of the kernel.
StatusOr<std::vector<InterfaceAddress>> ListInterfaceAddresses();

/// Names of interfaces; empty: no such route.
struct DefaultRoutes {
  std::string v4, v6;
};
DefaultRoutes ReadDefaultRoutes(fs::FileSystem& files);

/// `wanted` are those of --node-ip: one, or one of each family. They must be there. Else one
/// address: that of the default route's interface, IPv4 before IPv6 unless `wanted` is "::";
/// without a route the first that others could reach. NOT_FOUND when there is none.
StatusOr<std::vector<std::string>> ChooseAddresses(const std::vector<InterfaceAddress>& all,
                                                   const DefaultRoutes& routes,
                                                   const std::vector<std::string>& wanted);

/// All of the above; the primary address is the first.
StatusOr<std::vector<std::string>> ReadAddresses(fs::FileSystem& files, const ListAddresses& list,
                                                 const std::vector<std::string>& wanted);

}  // namespace splitlet::node
