#include "services/status/node/host_addresses.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/node.pb.h"

namespace splitlet::status {
namespace {

using Ips = std::vector<std::string>;
using Addresses = std::vector<NodeAddress>;

std::string Text(const Addresses& addresses) {
  std::string text;
  for (const auto& one : addresses) text += one.type + "=" + one.address + " ";
  return text;
}

TEST(HostAddresses, WhichOnesPodsShow) {
  const Ips machine = {"192.0.2.1", "2001:db8::1"};
  const struct {
    const char* name;
    bool cloud;
    std::optional<Addresses> server;
    Ips expected;
  } cases[] = {
      {"no cloud: the machine's", false, Addresses{{"InternalIP", "10.0.0.7"}}, machine},
      {"a cloud, and the server has not shown the node", true, std::nullopt, {}},
      {"a cloud that has set none", true, Addresses{}, machine},
      {"names are no addresses", true, Addresses{{"Hostname", "node-a"}}, machine},
      {"internal before external",
       true,
       Addresses{{"ExternalIP", "203.0.113.7"}, {"InternalIP", "10.0.0.7"}},
       {"10.0.0.7"}},
      {"one of each family",
       true,
       Addresses{{"InternalIP", "10.0.0.7"},
                 {"InternalIP", "10.0.0.8"},
                 {"ExternalIP", "2001:db8::7"},
                 {"ExternalIP", "2001:db8::8"}},
       {"10.0.0.7", "2001:db8::7"}},
      {"the family of the first one stays the primary one",
       true,
       Addresses{{"InternalIP", "2001:db8::7"}, {"InternalIP", "10.0.0.7"}},
       {"2001:db8::7", "10.0.0.7"}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(HostIps({.external_cloud = c.cloud, .machine = machine, .server = c.server}),
              c.expected)
        << c.name;
}

TEST(HostAddresses, WhichOnesTheServingCertificateNames) {
  const Ips ips = {"192.0.2.1", "2001:db8::1"};
  const std::string machine = "InternalIP=192.0.2.1 InternalIP=2001:db8::1 Hostname=node-a ";
  const struct {
    const char* name;
    bool cloud, server_bootstrap;
    std::optional<Addresses> server;
    std::string expected;
  } cases[] = {
      {"no cloud", false, true, Addresses{{"InternalIP", "10.0.0.7"}}, machine},
      {"a cloud that has set some", true, false, Addresses{{"ExternalIP", "203.0.113.7"}},
       "ExternalIP=203.0.113.7 "},
      {"a cloud that has set none, self-signed", true, false, Addresses{}, machine},
      {"a cloud that has set none, with a signer", true, true, Addresses{}, ""},
      {"not shown yet, self-signed", true, false, std::nullopt, machine},
      {"not shown yet, with a signer", true, true, std::nullopt, ""},
  };
  for (const auto& c : cases)
    EXPECT_EQ(
        Text(CertificateAddresses({.external_cloud = c.cloud, .machine = ips, .server = c.server},
                                  c.server_bootstrap, "node-a")),
        c.expected)
        << c.name;
}

TEST(HostAddresses, AreThoseInTheStatusOfTheNode) {
  kube::Node node;
  auto& address = *node.mutable_status()->add_addresses();
  address.set_type("InternalIP");
  address.set_address("10.0.0.7");
  EXPECT_EQ(Text(AddressesOf(node)), "InternalIP=10.0.0.7 ");
}

}  // namespace
}  // namespace splitlet::status
