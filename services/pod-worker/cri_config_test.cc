#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/security.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/real_file_system.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/pods_fixture.h"
#include "services/pod-worker/runtime_config/container.h"
#include "services/pod-worker/runtime_config/environment.h"
#include "services/pod-worker/runtime_config/resources.h"
#include "services/pod-worker/volumes/pod_volumes.h"

namespace splitlet::pod_worker {
namespace {

const NodeInfo kNode{.name = "node-1",
                     .annotation = "state-1/node-1",
                     .ips = {"192.0.2.1"},
                     .memory_bytes = 10LL << 30,
                     .allocatable = {4000, 10LL << 30, 100},
                     .cluster_domain = "cluster.local",
                     .cluster_dns = {"10.0.0.10"},
                     .resolver_config = "/etc/resolv.conf",
                     .pod_logs_dir = "/var/log/pods",
                     .container_links_dir = "/var/log/containers",
                     .pod_roots = {"/state/pods", "/kubelet"},
                     .seccomp_dir = "/kubelet/seccomp"};

TEST(Expand, EveryForm) {
  const std::map<std::string, std::string> known{{"A", "1"}, {"B", "$(A)"}};
  const struct {
    const char *name, *text, *want;
  } kCases[] = {
      {"a known name", "x$(A)y", "x1y"},
      {"an unknown name stays", "$(C)", "$(C)"},
      {"a doubled dollar is one", "$$(A)", "$(A)"},
      {"the result is not scanned again", "$(B)", "$(A)"},
      {"an open bracket stays", "$(A", "$(A"},
      {"a bare name stays", "$A", "$A"},
      {"a dollar at the end stays", "a$", "a$"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Expand(c.text, known), c.want);
  }
}

class EnvironmentTest : public testing::Test {
 protected:
  void Plain(const std::string& name, const std::string& value) {
    auto& variable = *container().add_env();
    variable.set_name(name);
    variable.set_value(value);
  }
  void Field(const std::string& name, const std::string& path) {
    auto& variable = *container().add_env();
    variable.set_name(name);
    variable.mutable_value_from()->mutable_field_ref()->set_field_path(path);
  }
  void Resource(const std::string& name, const std::string& path, const std::string& divisor) {
    auto& variable = *container().add_env();
    variable.set_name(name);
    auto& selector = *variable.mutable_value_from()->mutable_resource_field_ref();
    selector.set_resource(path);
    selector.mutable_divisor()->set_string(divisor);
  }
  kube::Container& container() { return *pod_.mutable_spec()->mutable_containers(0); }
  Environment Make() { return MakeEnvironment({pod_, container(), kNode, {"10.1.2.3"}}).value(); }

  kube::Pod pod_ = TestPod{}.Make();
};

TEST_F(EnvironmentTest, LaterOnesAreNotVisible) {
  Plain("A", "$(B)");
  Plain("B", "x");
  Plain("C", "$(B)");
  EXPECT_EQ(Make(), (Environment{{"A", "$(B)"}, {"B", "x"}, {"C", "x"}}));
}

TEST_F(EnvironmentTest, FieldsOfThePod) {
  (*pod_.mutable_metadata()->mutable_labels())["b"] = "2";
  (*pod_.mutable_metadata()->mutable_labels())["a"] = "say \"hi\"";
  Field("NAME", "metadata.name");
  Field("LABELS", "metadata.labels");
  Field("LABEL", "metadata.labels['b']");
  Field("NONE", "metadata.labels['c']");
  Field("NODE", "spec.nodeName");
  Field("HOST", "status.hostIP");
  Field("IP", "status.podIP");
  EXPECT_EQ(Make(), (Environment{{"NAME", "web"},
                                 {"LABELS", "a=\"say \\\"hi\\\"\"\nb=\"2\""},
                                 {"LABEL", "2"},
                                 {"NONE", ""},
                                 {"NODE", "node-1"},
                                 {"HOST", "192.0.2.1"},
                                 {"IP", "10.1.2.3"}}));
}

TEST_F(EnvironmentTest, LabelsAndAnnotationsAreQuotedAsAKubeletDoes) {
  pod_.mutable_metadata()->clear_annotations();
  (*pod_.mutable_metadata()->mutable_annotations())["a"] = "<b>&\n\t\"\\\x01";
  Field("A", "metadata.annotations");
  EXPECT_EQ(Make(), (Environment{{"A", "a=\"<b>&\\n\\t\\\"\\\\\\x01\""}}));
}

TEST_F(EnvironmentTest, AddressesComeInTheOrderOfTheNodesFamilies) {
  Field("ONE", "status.podIP");
  Field("ALL", "status.podIPs");
  const std::vector<std::string> ips{"fd00::7", "10.1.2.3", "10.1.2.4"};
  EXPECT_EQ(MakeEnvironment({pod_, container(), kNode, ips}).value(),
            (Environment{{"ONE", "10.1.2.3"}, {"ALL", "10.1.2.3,fd00::7"}}));
}

TEST_F(EnvironmentTest, Resources) {
  (*container().mutable_resources()->mutable_requests())["cpu"].set_string("250m");
  Resource("LIMIT", "limits.cpu", "");
  Resource("REQUEST", "requests.cpu", "1");
  Resource("MILLI", "requests.cpu", "1m");
  Resource("MEMORY", "limits.memory", "1Gi");
  Resource("NOTHING", "requests.memory", "0");
  EXPECT_EQ(
      Make(),
      (Environment{
          {"LIMIT", "4"}, {"REQUEST", "1"}, {"MILLI", "250"}, {"MEMORY", "10"}, {"NOTHING", "0"}}));
}

TEST_F(EnvironmentTest, WhatCannotBeReadHereIsRefusedUnlessOptional) {
  auto& variable = *container().add_env();
  variable.set_name("S");
  variable.mutable_value_from()->mutable_secret_key_ref()->set_optional(true);
  EXPECT_EQ(Make(), Environment{});
  variable.mutable_value_from()->mutable_secret_key_ref()->set_optional(false);
  EXPECT_FALSE(MakeEnvironment({pod_, container(), kNode, {}}).ok());
}

TEST(Resources, OfAContainer) {
  kube::Pod pod = TestPod{}.Make();
  auto& resources = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
  (*resources.mutable_requests())["cpu"].set_string("100m");
  (*resources.mutable_limits())["cpu"].set_string("500m");
  (*resources.mutable_limits())["memory"].set_string("128Mi");
  runtime::v1::LinuxContainerResources out;
  SetContainerResources(pod, pod.spec().containers(0), kNode, out);
  EXPECT_EQ(out.cpu_shares(), 102);
  EXPECT_EQ(out.cpu_quota(), 50000);
  EXPECT_EQ(out.cpu_period(), 100000);
  EXPECT_EQ(out.memory_limit_in_bytes(), 128 << 20);
  EXPECT_EQ(CpuShares(0), 2);
  EXPECT_EQ(CpuShares(1'000'000), 262144);
  EXPECT_EQ(CpuQuota(5, 100000), 1000);
}

TEST(Resources, WhatTheNodeAsksFor) {
  NodeInfo node = kNode;
  node.cgroups = {.v2 = true, .oom_group = true, .swap = true};
  node.huge_pages = {{"1GB", "hugepages-1Gi"}, {"2MB", "hugepages-2Mi"}};
  node.cpu_quota = false;
  kube::Pod pod = TestPod{}.Make();
  auto& limits = *pod.mutable_spec()->mutable_containers(0)->mutable_resources()->mutable_limits();
  limits["cpu"].set_string("1");
  limits["memory"].set_string("1Gi");
  limits["hugepages-2Mi"].set_string("4Mi");
  runtime::v1::LinuxContainerResources out;
  SetContainerResources(pod, pod.spec().containers(0), node, out);
  EXPECT_EQ(out.cpu_shares(), 1024);
  EXPECT_EQ(out.cpu_period(), 0) << "CPU limits are not enforced";
  EXPECT_EQ(out.cpu_quota(), 0);
  EXPECT_EQ(out.unified().at("memory.oom.group"), "1");
  EXPECT_EQ(out.unified().at("memory.swap.max"), "0");
  ASSERT_EQ(out.hugepage_limits_size(), 2);
  EXPECT_EQ(out.hugepage_limits(0).limit(), 0u);
  EXPECT_EQ(out.hugepage_limits(1).page_size(), "2MB");
  EXPECT_EQ(out.hugepage_limits(1).limit(), 4u << 20);
  node.cgroups = {.swap = true};
  out.Clear();
  SetContainerResources(pod, pod.spec().containers(0), node, out);
  EXPECT_TRUE(out.unified().empty());
  EXPECT_EQ(out.memory_swap_limit_in_bytes(), 1 << 30);
}

TEST(Resources, OfTheNodeAsItsFilesSay) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  EXPECT_FALSE(ReadCgroups(files, false).v2);
  const auto write = [&files](const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.MakeDirs(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files.Replace(path, text, {.mode = 0644}).ok());
  };
  write("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "");
  EXPECT_TRUE(ReadCgroups(files, false).swap);
  write("/sys/fs/cgroup/cgroup.controllers", "cpu memory");
  write("/proc/self/cgroup", "0::/system.slice/x.service\n");
  Cgroups cgroups = ReadCgroups(files, false);
  EXPECT_TRUE(cgroups.v2 && cgroups.oom_group && !cgroups.swap);
  write("/sys/fs/cgroup/system.slice/x.service/memory.swap.max", "max");
  cgroups = ReadCgroups(files, true);
  EXPECT_TRUE(cgroups.v2 && !cgroups.oom_group && cgroups.swap);
  EXPECT_FALSE(ReadSelinux(files));
  write("/sys/fs/selinux/enforce", "0");
  EXPECT_TRUE(ReadSelinux(files));
  write("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "0");
  write("/sys/devices/system/cpu/cpufreq/thermal_throttle/x", "0");
  EXPECT_EQ(ReadThermalPaths(files),
            std::vector<std::string>{"/sys/devices/system/cpu/cpu1/thermal_throttle"});
}

TEST(Resources, AllocatableInTheUnitsOfTheDownwardApi) {
  const auto resources =
      node::ComputeNodeResources({.cpus = 4, .memory_bytes = 16LL << 30, .storage_bytes = 1000},
                                 {.system_reserved = {{"cpu", "500m"}, {"memory", "1Gi"}}});
  ASSERT_TRUE(resources.ok()) << resources.status();
  const NodeInfo::Allocatable left = AllocatableOf(*resources);
  EXPECT_EQ(left.cpu_millicores, 3500);
  EXPECT_EQ(left.memory_bytes, 15LL << 30);
  EXPECT_EQ(left.storage_bytes, 1000);
}

TEST(Resources, OfTheWholePodAndItsOverhead) {
  kube::Pod pod = TestPod{.containers = {"a", "b"}}.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers()) {
    (*container.mutable_resources()->mutable_requests())["cpu"].set_string("500m");
    (*container.mutable_resources()->mutable_limits())["memory"].set_string("1Gi");
  }
  (*pod.mutable_spec()->mutable_overhead())["memory"].set_string("64Mi");
  runtime::v1::PodSandboxConfig out;
  SetPodResources(pod, kNode, out);
  EXPECT_EQ(out.linux().resources().cpu_shares(), 1024);
  EXPECT_EQ(out.linux().resources().memory_limit_in_bytes(), 2LL << 30);
  EXPECT_EQ(out.linux().overhead().memory_limit_in_bytes(), 64 << 20);
  EXPECT_TRUE(out.linux().resources().unified().empty());
  NodeInfo node = kNode;
  node.cgroups = {.v2 = true, .oom_group = true};
  SetPodResources(pod, node, out);
  EXPECT_EQ(out.linux().resources().unified().at("memory.oom.group"), "1");
  EXPECT_EQ(out.linux().overhead().unified().at("memory.oom.group"), "1");
}

TEST(Resources, OomScoreOfASidecarAndOfWhatThePodAsksForItself) {
  kube::Pod pod = TestPod{.inits = {"side"}, .sidecars = {"side"}}.Make();
  auto& app = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
  (*app.mutable_requests())["memory"].set_string("2Gi");
  const auto& sidecar = pod.spec().init_containers(0);
  EXPECT_EQ(OomScoreAdj(pod, sidecar, kNode), 800) << "it outlives the container that it serves";
  (*pod.mutable_spec()->mutable_resources()->mutable_requests())["memory"].set_string("4Gi");
  EXPECT_EQ(OomScoreAdj(pod, pod.spec().containers(0), kNode), 700);
  EXPECT_EQ(OomScoreAdj(pod, sidecar, kNode), 700) << "each has its share, a sidecar too";
}

TEST(Resources, OomScoreByQos) {
  const struct {
    const char *name, *request, *limit;
    bool cpu_too;
    int64_t score;
  } kCases[] = {
      {"nothing asked for", "", "", false, 1000},
      {"a tenth of the node", "1Gi", "", false, 900},
      {"the whole node", "10Gi", "", false, 3},
      {"a sliver", "1", "", false, 999},
      {"request is limit", "1Gi", "1Gi", true, -997},
      {"memory alone", "1Gi", "1Gi", false, 900},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = TestPod{}.Make();
    auto& resources = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
    if (*c.request != '\0') (*resources.mutable_requests())["memory"].set_string(c.request);
    if (*c.limit != '\0') (*resources.mutable_limits())["memory"].set_string(c.limit);
    if (c.cpu_too) {
      (*resources.mutable_limits())["cpu"].set_string("1");
      (*resources.mutable_requests())["cpu"].set_string("1");
    }
    EXPECT_EQ(OomScoreAdj(pod, pod.spec().containers(0), kNode), c.score);
  }
}

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
  EXPECT_TRUE(out.linux().cgroup_parent().empty());
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

class ContainerConfigTest : public testing::Test {
 protected:
  Status Make() {
    out_.Clear();
    return MakeContainerConfig(
        {pod_, container(), node_, files_, {"10.1.2.3"}, "sha256:1", image_, 1, 2, 7}, out_);
  }
  kube::Container& container() { return *pod_.mutable_spec()->mutable_containers(0); }

  kube::Pod pod_ = TestPod{}.Make();
  ContainerFiles files_{{{"data", "/state/data"}}, "/state/hosts", "/state/term"};
  NodeInfo node_ = kNode;
  std::optional<cri::Image> image_;
  runtime::v1::ContainerConfig out_;
};

TEST_F(ContainerConfigTest, CommandMountsAndNames) {
  auto& variable = *container().add_env();
  variable.set_name("A");
  variable.set_value("1");
  container().add_command("run");
  container().add_args("$(A)");
  auto& mount = *container().add_volume_mounts();
  mount.set_name("data");
  mount.set_mount_path("data");
  mount.set_read_only(true);
  mount.set_mount_propagation("Bidirectional");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.metadata().attempt(), 2u);
  EXPECT_EQ(out_.annotations().at("io.kubernetes.container.restartCount"), "1");
  EXPECT_EQ(out_.annotations().at("splitlet.dev/incarnation"), "7");
  EXPECT_EQ(out_.image().image(), "sha256:1");
  EXPECT_EQ(out_.image().user_specified_image(), "busybox:1.36");
  EXPECT_EQ(out_.args(0), "1");
  EXPECT_EQ(out_.log_path(), "app/2.log");
  ASSERT_EQ(out_.mounts_size(), 3);
  EXPECT_EQ(out_.mounts(0).container_path(), "/data");
  EXPECT_TRUE(out_.mounts(0).readonly());
  EXPECT_EQ(out_.mounts(0).propagation(), runtime::v1::PROPAGATION_BIDIRECTIONAL);
  EXPECT_EQ(out_.mounts(1).container_path(), "/etc/hosts");
  EXPECT_EQ(out_.mounts(2).container_path(), "/dev/termination-log");
  EXPECT_TRUE(out_.image().annotations().empty()) << "those of the pod are none of the image";
}

TEST_F(ContainerConfigTest, ARelativeTerminationMessagePathIsOneFromTheRoot) {
  container().set_termination_message_path("tmp/end");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.mounts(1).container_path(), "/tmp/end");
}

TEST_F(ContainerConfigTest, WhatWeMakeIsLabelledWhereTheHostHasLabels) {
  for (const char* name : {"data", "host"}) {
    auto& mount = *container().add_volume_mounts();
    mount.set_name(name);
    mount.set_mount_path(fmt::format("/{}", name));
    auto& volume = *pod_.mutable_spec()->add_volumes();
    volume.set_name(name);
    files_.volumes[name] = "/somewhere";
  }
  pod_.mutable_spec()->mutable_volumes(0)->mutable_volume_source()->mutable_empty_dir();
  pod_.mutable_spec()->mutable_volumes(1)->mutable_volume_source()->mutable_host_path();
  const auto labelled = [this] {
    std::string text;
    for (const auto& mount : out_.mounts())
      if (mount.selinux_relabel()) text += mount.container_path() + " ";
    return text;
  };
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(labelled(), "");
  node_.selinux = true;
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(labelled(), "/data /etc/hosts /dev/termination-log ");
}

TEST_F(ContainerConfigTest, AHostsFileOfItsOwnReplacesTheManagedOne) {
  auto& mount = *container().add_volume_mounts();
  mount.set_name("data");
  mount.set_mount_path("/etc/hosts");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.mounts(0).host_path(), "/state/data");
  EXPECT_EQ(out_.mounts(1).container_path(), "/dev/termination-log");
}

TEST_F(ContainerConfigTest, AMissingVolumeIsNamed) {
  auto& mount = *container().add_volume_mounts();
  mount.set_name("v");
  mount.set_mount_path("/x");
  EXPECT_EQ(Message(Make()), "cannot find volume \"v\" to mount into container \"app\"");
}

TEST_F(ContainerConfigTest, Security) {
  auto& context = *container().mutable_security_context();
  context.set_run_as_user(1000);
  context.set_allow_privilege_escalation(false);
  context.set_read_only_root_filesystem(true);
  context.mutable_capabilities()->add_drop("ALL");
  context.mutable_seccomp_profile()->set_type("Localhost");
  EXPECT_FALSE(Make().ok()) << "a local profile needs a name";
  context.mutable_seccomp_profile()->set_localhost_profile("p.json");
  pod_.mutable_spec()->mutable_security_context()->set_run_as_group(5);
  ASSERT_TRUE(Make().ok());
  const auto& out = out_.linux().security_context();
  EXPECT_EQ(out.run_as_user().value(), 1000);
  EXPECT_EQ(out.run_as_group().value(), 5);
  EXPECT_TRUE(out.no_new_privs());
  EXPECT_TRUE(out.readonly_rootfs());
  EXPECT_EQ(out.capabilities().drop_capabilities(0), "ALL");
  EXPECT_EQ(out.seccomp().localhost_ref(), "/kubelet/seccomp/p.json");
  EXPECT_EQ(out.masked_paths(0), "/proc/asound");
  context.clear_seccomp_profile();
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().seccomp().profile_type(),
            runtime::v1::SecurityProfile::Unconfined);
}

TEST_F(ContainerConfigTest, DefaultsOfTheNodeAndProfilesByAnnotation) {
  node_.seccomp_default = true;
  node_.thermal_paths = {"/sys/devices/system/cpu/cpu0/thermal_throttle"};
  (*pod_.mutable_metadata()
        ->mutable_annotations())["container.apparmor.security.beta.kubernetes.io/app"] =
      "localhost/mine";
  ASSERT_TRUE(Make().ok());
  const auto& out = out_.linux().security_context();
  EXPECT_EQ(out.seccomp().profile_type(), runtime::v1::SecurityProfile::RuntimeDefault);
  EXPECT_EQ(*out.masked_paths().rbegin(), "/sys/devices/system/cpu/cpu0/thermal_throttle");
  EXPECT_EQ(out.apparmor().localhost_ref(), "mine");
  EXPECT_EQ(out.apparmor_profile(), "localhost/mine");
  pod_.mutable_spec()->mutable_security_context()->mutable_app_armor_profile()->set_type(
      "RuntimeDefault");
  for (const char* none : {"mine", "localhost/", ""}) {
    (*pod_.mutable_metadata()
          ->mutable_annotations())["container.apparmor.security.beta.kubernetes.io/app"] = none;
    ASSERT_TRUE(Make().ok());
    EXPECT_EQ(out_.linux().security_context().apparmor_profile(), "runtime/default") << none;
  }
  container().mutable_security_context()->mutable_app_armor_profile()->set_type("Unconfined");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().apparmor_profile(), "unconfined");
}

TEST_F(ContainerConfigTest, TheUserOfTheImageIsNamedToTheRuntime) {
  EXPECT_TRUE(NeedsImageUser(pod_, container()));
  image_ = cri::Image{.uid = 1234};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 1234);
  container().mutable_security_context()->set_run_as_user(7);
  EXPECT_FALSE(NeedsImageUser(pod_, container()));
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 7);
}

TEST_F(ContainerConfigTest, AGroupAloneGoesWithTheUserOfTheImage) {
  container().mutable_security_context()->set_run_as_group(3000);
  EXPECT_TRUE(NeedsImageUser(pod_, container()));
  image_ = cri::Image{.uid = 33};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 33);
  EXPECT_EQ(out_.linux().security_context().run_as_group().value(), 3000);
  image_ = cri::Image{.username = "app"};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_username(), "app");
  EXPECT_FALSE(out_.linux().security_context().has_run_as_user());
  image_ = cri::Image{};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 0);
}

TEST_F(ContainerConfigTest, RunAsNonRoot) {
  container().mutable_security_context()->set_run_as_non_root(true);
  EXPECT_TRUE(NeedsImageUser(pod_, container()));
  image_ = cri::Image{.username = "app"};
  EXPECT_NE(Message(Make()).find("non-numeric user (app)"), std::string::npos);
  image_ = cri::Image{.uid = 0};
  EXPECT_NE(Message(Make()).find("image will run as root"), std::string::npos);
  image_ = cri::Image{.uid = 1LL << 31};
  EXPECT_NE(Message(Make()).find("is not in 0..2147483647"), std::string::npos);
  image_ = cri::Image{.uid = 33};
  EXPECT_TRUE(Make().ok());
  container().mutable_security_context()->set_run_as_user(0);
  EXPECT_NE(Message(Make()).find("breaks non-root policy"), std::string::npos);
}

TEST(Volumes, OnlyThoseOnDisk) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  kube::Pod pod = TestPod{}.Make();
  const auto add = [&pod](const std::string& name) -> auto& {
    auto& volume = *pod.mutable_spec()->add_volumes();
    volume.set_name(name);
    return *volume.mutable_volume_source();
  };
  add("scratch").mutable_empty_dir();
  auto& host = *add("host").mutable_host_path();
  host.set_path("/srv/data");
  host.set_type("DirectoryOrCreate");
  const auto paths = VolumePaths(pod, "/kubelet/pods/uid-web");
  EXPECT_EQ(paths.value(),
            (std::map<std::string, std::string>{
                {"scratch", "/kubelet/pods/uid-web/volumes/kubernetes.io~empty-dir/scratch"},
                {"host", "/srv/data"}}));
  ASSERT_TRUE(EnsureVolumes(pod, "/kubelet/pods/uid-web", files).ok());
  EXPECT_TRUE(files.Stat(paths->at("scratch"), false).ok());
  EXPECT_TRUE(files.Stat("/srv/data", false).ok());
  host.set_type("File");
  EXPECT_EQ(Message(EnsureVolumes(pod, "/kubelet/pods/uid-web", files)),
            "MountVolume.SetUp failed for volume \"host\" : hostPath type check failed: /srv/data "
            "is not a file");
  ASSERT_TRUE(RemoveVolumes("/kubelet/pods/uid-web", files).ok());
  EXPECT_FALSE(files.Stat(paths->at("scratch"), false).ok());
  EXPECT_TRUE(files.Stat("/srv/data", false).ok());
  add("secret").mutable_secret();
  EXPECT_EQ(Message(VolumePaths(pod, "/x").status()), "volume type \"secret\" is not supported");
}

TEST(Volumes, EachKindOfDeviceIsToldApart) {
  fs::RealFileSystem files;
  kube::Pod pod = TestPod{}.Make();
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("v");
  auto& host = *volume.mutable_volume_source()->mutable_host_path();
  host.set_path("/dev/null");
  const std::string dir = testing::TempDir() + "/volumes-of-devices";
  for (const std::string type : {"CharDevice", "BlockDevice", "Socket", "File"}) {
    host.set_type(type);
    EXPECT_EQ(EnsureVolumes(pod, dir, files).ok(), type == "CharDevice") << type;
  }
  ASSERT_TRUE(files.RemoveTree(dir).ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
