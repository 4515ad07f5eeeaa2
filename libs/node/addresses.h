#pragma once

/// The addresses of this node, as a kubelet finds them.
/// Threads: any; List and Read ask the kernel. Errors contain only the reason.
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
  bool up = true, loopback = false;  // state of the interface
};
using ListAddresses = std::function<StatusOr<std::vector<InterfaceAddress>>()>;

/// The kernel's list.
StatusOr<std::vector<InterfaceAddress>> ListInterfaceAddresses();

/// Names of interfaces; empty: no default route.
struct DefaultRoutes {
  std::string v4, v6;
};
DefaultRoutes ReadDefaultRoutes(fs::FileSystem& files);

/// Addresses of a host's name, in the resolver's order; blocks for a bounded time.
using ResolveName = std::function<StatusOr<std::vector<std::string>>(const std::string& name)>;

/// While a lookup fails, returns the last answer, so that a short failure of a DNS server does not
/// change the node's address. One call at a time.
ResolveName Remembering(ResolveName resolve);

struct WantedAddresses {
  std::vector<std::string> ips;  // value of --node-ip: one address, or one of each family; "::" is
                                 // a preference
  std::string node_name;
};
/// True if the result depends on the resolver.
bool AsksForName(const WantedAddresses& wanted);

/// The addresses of --node-ip, which must exist. Otherwise one address, IPv4 before IPv6 unless
/// "::" is wanted. In this order: the node's name, if it is an address; the first existing address
/// to which the name resolves (`named`); the address of the default route's interface; without a
/// route the first address reachable from outside. NOT_FOUND: no address.
StatusOr<std::vector<std::string>> ChooseAddresses(const std::vector<InterfaceAddress>& all,
                                                   const DefaultRoutes& routes,
                                                   const WantedAddresses& wanted,
                                                   const std::vector<std::string>& named);

struct AddressSources {
  fs::FileSystem& files;
  ListAddresses list;
  ResolveName resolve;  // null: the name is not looked up
};
/// All addresses of the node, the primary one first. A name that does not resolve in time is
/// skipped.
StatusOr<std::vector<std::string>> ReadAddresses(const AddressSources& sources,
                                                 const WantedAddresses& wanted);

}  // namespace splitlet::node
