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

/// Addresses of a host's name, in the resolver's order; blocks for a bounded time.
using ResolveName = std::function<StatusOr<std::vector<std::string>>(const std::string& name)>;

/// One that gives what it gave before while it is not answered: a DNS server that is away for a
/// moment does not give the node another address. One call at a time.
ResolveName Remembering(ResolveName resolve);

struct WantedAddresses {
  std::vector<std::string> ips;  // of --node-ip: one, or one of each family; "::" is a preference
  std::string node_name;
};
/// Whether it depends on what the node's name resolves to.
bool AsksForName(const WantedAddresses& wanted);

/// Those of --node-ip, which must be there. Else one address, IPv4 before IPv6 unless "::" is
/// wanted: the node's name where that is one; of `named`, what its name resolves to, the first that
/// is there; that of the default route's interface; without a route the first that others could
/// reach. NOT_FOUND when there is none.
StatusOr<std::vector<std::string>> ChooseAddresses(const std::vector<InterfaceAddress>& all,
                                                   const DefaultRoutes& routes,
                                                   const WantedAddresses& wanted,
                                                   const std::vector<std::string>& named);

struct AddressSources {
  fs::FileSystem& files;
  ListAddresses list;
  ResolveName resolve;  // null: no name is looked up
};
/// All of the above; the primary address is the first. A name that nobody knows, or not in time, is
/// passed over.
StatusOr<std::vector<std::string>> ReadAddresses(const AddressSources& sources,
                                                 const WantedAddresses& wanted);

}  // namespace splitlet::node
