#include "services/status/identity/names.h"

#include <arpa/inet.h>

#include <algorithm>

namespace splitlet::status {
namespace {

bool IsIp(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

void SortOnce(std::vector<std::string>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

x509::Names ClientNames(const std::string& node_name) {
  return {.common_name = "system:node:" + node_name, .organizations = {"system:nodes"}};
}

x509::Names ServerNames(const std::string& node_name, const std::vector<NodeAddress>& addresses) {
  x509::Names names = ClientNames(node_name);
  for (const NodeAddress& one : addresses) {
    if (one.address.empty()) continue;
    const bool is_ip = one.type == "InternalIP" || one.type == "ExternalIP" ||
                       (one.type == "Hostname" && IsIp(one.address));
    (is_ip ? names.addresses : names.dns).push_back(one.address);
  }
  SortOnce(names.dns);
  SortOnce(names.addresses);
  return names;
}

}  // namespace splitlet::status
