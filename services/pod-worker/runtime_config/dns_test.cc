#include "services/pod-worker/runtime_config/dns.h"

#include <gtest/gtest.h>

#include "services/pod-worker/pods_fixture.h"
#include "services/pod-worker/runtime_config/node_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(Dns, ByPolicy) {
  const Dns host{{"8.8.8.8"}, {"example.com"}, {"timeout:1"}};
  const struct {
    const char *name, *policy;
    bool host_network;
    Dns want;
  } kCases[] = {
      {"the cluster's",
       "ClusterFirst",
       false,
       {{"10.0.0.10"},
        {"default.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com"},
        {"ndots:5"}}},
      {"the host's in its network", "ClusterFirst", true, host},
      {"the cluster's in the host's network when asked",
       "ClusterFirstWithHostNet",
       true,
       {{"10.0.0.10"},
        {"default.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com"},
        {"ndots:5"}}},
      {"the host's", "Default", false, host},
      {"none", "None", false, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = TestPod{}.Make();
    pod.mutable_spec()->set_dns_policy(c.policy);
    pod.mutable_spec()->set_host_network(c.host_network);
    const PodDns got = MakeDns(pod, kNode, host);
    EXPECT_EQ(got.dns, c.want);
    EXPECT_TRUE(got.warnings.empty());
  }
}

TEST(Dns, WishesLimitsAndWarnings) {
  kube::Pod pod = TestPod{}.Make();
  auto& wishes = *pod.mutable_spec()->mutable_dns_config();
  for (const char* server : {"1.1.1.1", "8.8.8.8", "2.2.2.2", "3.3.3.3"})
    wishes.add_nameservers(server);
  auto& option = *wishes.add_options();
  option.set_name("timeout");
  option.set_value("5");
  const PodDns got = MakeDns(pod, kNode, {{"8.8.8.8"}, {}, {"timeout:1", "rotate"}});
  EXPECT_EQ(got.dns.servers, (std::vector<std::string>{"8.8.8.8", "1.1.1.1", "2.2.2.2"}));
  EXPECT_EQ(got.dns.options, (std::vector<std::string>{"timeout:5", "rotate"}));
  ASSERT_EQ(got.warnings.size(), 1u);
  EXPECT_EQ(got.warnings[0].reason, "DNSConfigForming");
  pod.mutable_spec()->set_dns_policy("ClusterFirst");
  NodeInfo bare = kNode;
  bare.cluster_dns.clear();
  EXPECT_EQ(MakeDns(pod, bare, {}).warnings.at(0).reason, "MissingClusterDNS");
}

TEST(Dns, ResolverFile) {
  const auto parsed = ParseResolverFile(
      "# a comment\nnameserver 1.1.1.1\nsearch old.example\nsearch a.example. . b.example\n"
      "options ndots:2 rotate\noptions ndots:3\nnameserver 2.2.2.2\n");
  EXPECT_EQ(parsed.value(),
            (Dns{{"1.1.1.1", "2.2.2.2"}, {"a.example", "b.example"}, {"ndots:3", "rotate"}}));
  EXPECT_FALSE(ParseResolverFile("nameserver\n").ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
