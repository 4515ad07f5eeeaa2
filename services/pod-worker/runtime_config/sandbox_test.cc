#include "services/pod-worker/runtime_config/sandbox.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/security.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/node_fixture.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(SandboxConfig, EveryField) {
  kube::Pod pod = TestPod{}.Make();
  pod.mutable_spec()->set_host_ipc(true);
  auto& container = *pod.mutable_spec()->mutable_containers(0);
  container.mutable_security_context()->set_privileged(true);
  auto& port = *container.add_ports();
  port.set_container_port(80);
  port.set_host_port(8080);
  port.set_protocol("UDP");
  *container.add_ports() = port;
  auto& context = *pod.mutable_spec()->mutable_security_context();
  context.set_fs_group(7);
  auto& sysctl = *context.add_sysctls();
  sysctl.set_name("net/ipv4/tcp_syncookies");
  sysctl.set_value("1");
  runtime::v1::PodSandboxConfig out;
  ASSERT_TRUE(MakeSandboxConfig({pod, kNode, {{"1.1.1.1"}, {}, {}}, 3}, out).ok());
  EXPECT_EQ(out.metadata().attempt(), 3u);
  EXPECT_EQ(out.hostname(), "web");
  EXPECT_EQ(out.log_directory(), "/var/log/pods/default_web_uid-web");
  EXPECT_EQ(out.annotations().at("splitlet.dev/node"), "state-1/node-1");
  EXPECT_EQ(out.annotations().at("kubernetes.io/config.source"), "file");
  EXPECT_EQ(out.labels().at("io.kubernetes.pod.uid"), "uid-web");
  ASSERT_EQ(out.port_mappings_size(), 1);
  EXPECT_EQ(out.port_mappings(0).protocol(), runtime::v1::UDP);
  const auto& security = out.linux().security_context();
  EXPECT_TRUE(security.privileged());
  EXPECT_EQ(security.namespace_options().ipc(), runtime::v1::NODE);
  EXPECT_EQ(security.namespace_options().network(), runtime::v1::POD);
  EXPECT_EQ(security.namespace_options().pid(), runtime::v1::CONTAINER);
  EXPECT_EQ(security.namespace_options().userns_options().mode(), runtime::v1::NODE);
  EXPECT_EQ(security.supplemental_groups(0), 7);
  EXPECT_EQ(out.linux().sysctls().at("net.ipv4.tcp_syncookies"), "1");
  EXPECT_TRUE(out.linux().cgroup_parent().empty()) << "the runtime places the pod";
}

TEST(SandboxConfig, GroupsOfVolumesComeAfterThePodsOwn) {
  const struct {
    const char* name;
    std::vector<int64_t> own;
    std::set<int64_t> of_volumes;
    std::vector<int64_t> want;
  } kCases[] = {
      {"none", {}, {}, {7}},
      {"behind the pod's", {9}, {5, 3}, {7, 9, 3, 5}},
      {"once, if the pod has it", {9, 5}, {5, 7}, {7, 9, 5}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = TestPod{}.Make();
    auto& context = *pod.mutable_spec()->mutable_security_context();
    context.set_fs_group(7);
    context.mutable_supplemental_groups()->Assign(c.own.begin(), c.own.end());
    runtime::v1::PodSandboxConfig out;
    SandboxInput input{pod, kNode, {}};
    input.isolation.volume_groups = c.of_volumes;
    ASSERT_TRUE(MakeSandboxConfig(input, out).ok());
    const auto& groups = out.linux().security_context().supplemental_groups();
    EXPECT_EQ(std::vector<int64_t>(groups.begin(), groups.end()), c.want);
  }
}

TEST(SandboxConfig, APrivilegedContainerOfAnyKindMakesItPrivileged) {
  for (const char* kind : {"init", "main", "ephemeral"}) {
    SCOPED_TRACE(kind);
    kube::Pod pod = TestPod{.inits = {"i"}}.Make();
    auto& spec = *pod.mutable_spec();
    auto& debug = *spec.add_ephemeral_containers()->mutable_ephemeral_container_common();
    auto* container = *kind == 'i'   ? spec.mutable_init_containers(0)
                      : *kind == 'm' ? spec.mutable_containers(0)
                                     : nullptr;
    auto& context = container != nullptr ? *container->mutable_security_context()
                                         : *debug.mutable_security_context();
    runtime::v1::PodSandboxConfig out;
    ASSERT_TRUE(MakeSandboxConfig({pod, kNode, {{"1.1.1.1"}, {}, {}}, 0}, out).ok());
    EXPECT_FALSE(out.linux().security_context().privileged());
    context.set_privileged(true);
    ASSERT_TRUE(MakeSandboxConfig({pod, kNode, {{"1.1.1.1"}, {}, {}}, 0}, out).ok());
    EXPECT_TRUE(out.linux().security_context().privileged());
  }
}

TEST(SandboxConfig, HostNames) {
  kube::Pod pod = TestPod{.name = std::string(62, 'a') + ".b"}.Make();
  EXPECT_EQ(HostNamesOf(pod, "c.local")->host, std::string(62, 'a'));
  pod = TestPod{}.Make();
  pod.mutable_spec()->set_subdomain("sub");
  EXPECT_EQ(HostNamesOf(pod, "c.local")->domain, "sub.default.svc.c.local");
  pod.mutable_spec()->set_set_hostname_as_fqdn(true);
  EXPECT_TRUE(HostNamesOf(pod, "c.local").ok());
  EXPECT_FALSE(HostNamesOf(pod, std::string(60, 'd')).ok());
  pod.mutable_spec()->set_hostname_override(std::string(62, 'o') + ".x");
  EXPECT_EQ(HostNamesOf(pod, "c.local")->host, std::string(62, 'o'));
  EXPECT_EQ(HostNamesOf(pod, "c.local")->domain, "");
}

TEST(HostsFile, OfBothNetworks) {
  kube::Pod pod = TestPod{}.Make();
  auto& alias = *pod.mutable_spec()->add_host_aliases();
  alias.set_ip("1.2.3.4");
  alias.add_hostnames("x");
  alias.add_hostnames("y");
  const std::string own = HostsFile(pod, {"10.1.2.3"}, {"web", "sub.local"}, "");
  EXPECT_TRUE(own.starts_with("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"));
  EXPECT_TRUE(
      own.ends_with("fe00::2\tip6-allrouters\n10.1.2.3\tweb.sub.local\tweb\n\n"
                    "# Entries added by HostAliases.\n1.2.3.4\tx\ty\n"));
  pod.mutable_spec()->set_host_network(true);
  pod.mutable_spec()->clear_host_aliases();
  EXPECT_EQ(HostsFile(pod, {}, {}, "127.0.0.1 me\n"),
            "# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n");
}

}  // namespace
}  // namespace splitlet::pod_worker
