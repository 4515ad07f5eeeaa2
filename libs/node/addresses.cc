#include "libs/node/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/route.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

namespace splitlet::node {
namespace {

constexpr uint64_t kMaxProcFile = 4u << 20;

struct Ip {
  bool v6 = false;
  in_addr v4_address{};
  in6_addr v6_address{};
};

std::optional<Ip> Parse(const std::string& text) {
  Ip ip;
  if (inet_pton(AF_INET, text.c_str(), &ip.v4_address) == 1) return ip;
  ip.v6 = true;
  if (inet_pton(AF_INET6, text.c_str(), &ip.v6_address) == 1) return ip;
  return std::nullopt;
}

/// Why other machines cannot reach a node by this address; empty: they can.
std::string_view WhyLocal(const Ip& ip) {
  if (ip.v6) {
    if (IN6_IS_ADDR_LOOPBACK(&ip.v6_address)) return "a loopback address";
    if (IN6_IS_ADDR_MULTICAST(&ip.v6_address)) return "a multicast address";
    if (IN6_IS_ADDR_LINKLOCAL(&ip.v6_address)) return "a link-local address";
    if (IN6_IS_ADDR_UNSPECIFIED(&ip.v6_address)) return "not an address of a machine";
    return "";
  }
  const uint32_t address = ntohl(ip.v4_address.s_addr);
  if (address >> 24 == 127) return "a loopback address";
  if (address >> 28 == 14) return "a multicast address";
  if (address >> 16 == 0xA9FE) return "a link-local address";
  if (address == 0 || address == INADDR_BROADCAST) return "not an address of a machine";
  return "";
}

bool IsGlobal(const InterfaceAddress& one) {
  const auto ip = Parse(one.address);
  return ip && WhyLocal(*ip).empty();
}

std::string ReadOrEmpty(fs::FileSystem& files, const std::string& path) {
  auto text = files.Read(path, kMaxProcFile);
  return text.ok() ? *std::move(text) : std::string();
}

bool IsRejected(const std::string& hex_flags) {
  const unsigned long flags = std::strtoul(hex_flags.c_str(), nullptr, 16);
  return (flags & RTF_UP) == 0 || (flags & RTF_REJECT) != 0;
}

/// The first matching address, as text.
template <class Fits>
std::string First(const std::vector<InterfaceAddress>& all, const Fits& fits) {
  const auto found =
      std::ranges::find_if(all, [&](const auto& one) { return IsGlobal(one) && fits(one); });
  return found == all.end() ? std::string() : found->address;
}

/// Address of the default route's interface; a router may have its address on loopback instead.
std::string OfRoute(const std::vector<InterfaceAddress>& all, const std::string& interface,
                    bool v6) {
  if (interface.empty()) return "";
  const std::string address = First(all, [&](const InterfaceAddress& one) {
    return one.v6 == v6 && one.up && one.interface == interface;
  });
  if (!address.empty()) return address;
  return First(all,
               [&](const InterfaceAddress& one) { return one.v6 == v6 && one.up && one.loopback; });
}

Status CheckWanted(const std::string& text, const std::vector<InterfaceAddress>& all) {
  const auto ip = Parse(text);
  if (!ip) return InvalidArgument("--node-ip: {} is no IP address", text);
  if (const auto why = WhyLocal(*ip); !why.empty())
    return InvalidArgument("--node-ip: {} is {}", text, why);
  const bool present = std::ranges::any_of(all, [&](const InterfaceAddress& one) {
    const auto other = Parse(one.address);
    if (!other || other->v6 != ip->v6) return false;
    return ip->v6 ? IN6_ARE_ADDR_EQUAL(&other->v6_address, &ip->v6_address)
                  : other->v4_address.s_addr == ip->v4_address.s_addr;
  });
  return present
             ? OkStatus()
             : NotFound("--node-ip: {} is not the address of any interface of this machine", text);
}

const std::vector<std::string> kAnyV4 = {"0.0.0.0"}, kAnyV6 = {"::"};

/// True for an address, not for a family alone.
bool SaysWhich(const std::vector<std::string>& ips) {
  return !ips.empty() && ips != kAnyV4 && ips != kAnyV6;
}

/// The first address of this family; of the other family if there is none.
std::string OfName(const std::vector<InterfaceAddress>& all, const std::vector<std::string>& named,
                   bool v6_first) {
  std::string other;
  for (const std::string& one : named) {
    if (!CheckWanted(one, all).ok()) continue;
    if (Parse(one)->v6 == v6_first) return one;
    if (other.empty()) other = one;
  }
  return other;
}

}  // namespace

StatusOr<std::vector<InterfaceAddress>> ListInterfaceAddresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return ErrnoStatus(errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  std::vector<InterfaceAddress> all;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const void* const raw =
        family == AF_INET ? static_cast<const void*>(
                                &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr)
                          : &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (inet_ntop(family, raw, text.data(), text.size()) == nullptr) continue;
    all.push_back({.interface = entry->ifa_name,
                   .address = text.data(),
                   .v6 = family == AF_INET6,
                   .up = (entry->ifa_flags & IFF_UP) != 0,
                   .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return all;
}

DefaultRoutes ReadDefaultRoutes(fs::FileSystem& files) {
  DefaultRoutes routes;
  std::istringstream v4(ReadOrEmpty(files, "/proc/net/route"));
  for (std::string line; std::getline(v4, line) && routes.v4.empty();) {
    std::istringstream fields(line);
    std::string interface, destination, gateway, flags, refs, use, metric, mask;
    if (!(fields >> interface >> destination >> gateway >> flags >> refs >> use >> metric >> mask))
      continue;
    if (destination == "00000000" && mask == "00000000" && !IsRejected(flags))
      routes.v4 = interface;
  }
  std::istringstream v6(ReadOrEmpty(files, "/proc/net/ipv6_route"));
  for (std::string line; std::getline(v6, line) && routes.v6.empty();) {
    std::istringstream fields(line);
    std::string to, bits, from, from_bits, gateway, metric, refs, use, flags, interface;
    if (!(fields >> to >> bits >> from >> from_bits >> gateway >> metric >> refs >> use >> flags >>
          interface))
      continue;
    if (to == std::string(32, '0') && bits == "00" && !IsRejected(flags)) routes.v6 = interface;
  }
  return routes;
}

ResolveName Remembering(ResolveName resolve) {
  using Found = StatusOr<std::vector<std::string>>;
  return [resolve = std::move(resolve),
          last = std::make_shared<Found>(NotFound("not asked yet"))](const std::string& name) {
    Found found = resolve(name);
    if (found.ok() || !last->ok()) *last = std::move(found);
    return *last;
  };
}

bool AsksForName(const WantedAddresses& wanted) {
  return !SaysWhich(wanted.ips) && !Parse(wanted.node_name);
}

StatusOr<std::vector<std::string>> ChooseAddresses(const std::vector<InterfaceAddress>& all,
                                                   const DefaultRoutes& routes,
                                                   const WantedAddresses& wanted,
                                                   const std::vector<std::string>& named) {
  if (SaysWhich(wanted.ips)) {
    for (const std::string& one : wanted.ips)
      if (const Status fit = CheckWanted(one, all); !fit.ok()) return fit;
    return wanted.ips;
  }
  if (Parse(wanted.node_name)) return std::vector<std::string>{wanted.node_name};
  const bool v6_first = wanted.ips == kAnyV6;
  if (auto address = OfName(all, named, v6_first); !address.empty())
    return std::vector<std::string>{std::move(address)};
  for (const bool v6 : {v6_first, !v6_first})
    if (auto address = OfRoute(all, v6 ? routes.v6 : routes.v4, v6); !address.empty())
      return std::vector<std::string>{std::move(address)};
  for (const bool v6 : {v6_first, !v6_first}) {
    auto address = First(
        all, [v6](const InterfaceAddress& one) { return one.v6 == v6 && one.up && !one.loopback; });
    if (!address.empty()) return std::vector<std::string>{std::move(address)};
  }
  return NotFound("no interface has an address that other machines can reach");
}

StatusOr<std::vector<std::string>> ReadAddresses(const AddressSources& sources,
                                                 const WantedAddresses& wanted) {
  ASSIGN_OR_RETURN(const auto all, sources.list(), "list the addresses of this machine");
  std::vector<std::string> named;
  if (sources.resolve && AsksForName(wanted))
    named = sources.resolve(wanted.node_name).value_or(std::vector<std::string>());
  return ChooseAddresses(all, ReadDefaultRoutes(sources.files), wanted, named);
}

}  // namespace splitlet::node
