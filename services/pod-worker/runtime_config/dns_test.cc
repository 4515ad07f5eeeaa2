#include "services/pod-worker/runtime_config/dns.h"

#include <gtest/gtest.h>

#include "services/pod-worker/runtime_config/node_fixture.h"
#include "services/pod-worker/tests/pods_fixture.h"

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

TEST(Dns, AnOptionWithAnEmptyValueIsItsName) {
  const Dns host{{"8.8.8.8"}, {}, {"attempts:", "ndots:2", "rotate"}};
  kube::Pod pod = TestPod{}.Make();
  pod.mutable_spec()->set_dns_policy("Default");
  EXPECT_EQ(MakeDns(pod, kNode, host).dns.options, host.options) << "the file of the host as it is";
  const auto wish = [&](const char* name, const char* value) {
    auto& option = *pod.mutable_spec()->mutable_dns_config()->add_options();
    option.set_name(name);
    option.set_value(value);
  };
  wish("timeout", "");
  wish("ndots", "");
  wish("rotate", "a:");
  EXPECT_EQ(MakeDns(pod, kNode, host).dns.options,
            (std::vector<std::string>{"attempts", "ndots", "rotate:a:", "timeout"}));
}

TEST(Dns, ResolverFile) {
  const auto parsed = ParseResolverFile(
      "# a comment\nnameserver 1.1.1.1\nsearch old.example\nsearch a.example. . b.example\n"
      "options ndots:2 rotate\noptions ndots:3\nnameserver 2.2.2.2\n");
  EXPECT_EQ(parsed.value(),
            (Dns{{"1.1.1.1", "2.2.2.2"}, {"a.example", "b.example"}, {"ndots:3", "rotate"}}));
  EXPECT_FALSE(ParseResolverFile("nameserver\n").ok());
}

TEST(Dns, WhatAResolverFileHoldsBeyondWhatPodsGet) {
  const auto searches = [](size_t count, size_t length) {
    Dns dns;
    for (size_t i = 0; i < count; ++i) dns.searches.push_back(std::string(length, 'a'));
    return dns;
  };
  const struct {
    const char* name;
    Dns file;
    bool cluster_domain;
    const char* want;
  } kCases[] = {
      {"nothing", {}, true, ""},
      {"as many as there may be", searches(32, 10), false, ""},
      {"and beside those of the cluster", searches(29, 10), true, ""},
      {"one more", searches(33, 10), false,
       "Resolv.conf file '/r' contains search line consisting of more than 32 domains!"},
      {"one more than beside those of the cluster", searches(30, 10), true,
       "Resolv.conf file '/r' contains search line consisting of more than 29 domains!"},
      {"a long one", searches(1, 254), false,
       "Resolv.conf file \"/r\" contains a search path which length is more than allowed 253 "
       "chars!"},
      {"as long as they may be together", searches(9, 226), false, ""},
      {"longer", searches(9, 227), false,
       "Resolv.conf file '/r' contains search line which length is more than allowed 2048 chars!"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ResolverFileExcess("/r", c.file, c.cluster_domain), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
