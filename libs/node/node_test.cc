#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "libs/fs/fake_file_system.h"
#include "libs/node/addresses.h"
#include "libs/node/cpu_topology.h"
#include "libs/node/machine.h"
#include "libs/node/pod_place.h"
#include "libs/node/resources.h"
#include "libs/node/system_info.h"

namespace splitlet::node {
namespace {

constexpr const char* kRoute =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "cni0\t0000580A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    "gone\t00000000\t0101A8C0\t0203\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
const std::string kZero(32, '0');
const std::string kRoute6 =
    "fd000000000000000000000000000000 40 " + kZero + " 00 " + kZero +
    " 00000100 00000001 00000000 00000001     eth1\n" + kZero + " 00 " + kZero +
    " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1\n" + kZero +
    " 00 " + kZero + " 00 " + kZero + " ffffffff 00000001 00000000 00200200       lo\n";

class Files : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(files.Replace(path, content, {}).ok());
  }
  FakeClock clock;
  fs::FakeFileSystem files{clock};
};
using Machines = Files;
using Routes = Files;

TEST_F(Files, TheSystemIsWhatItsFilesSay) {
  Put("/etc/machine-id", "0123456789abcdef\n");
  Put("/proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
  Put("/proc/sys/kernel/random/boot_id", "1-2-3\n");
  Put("/usr/lib/os-release", "NAME=x\nPRETTY_NAME=\"Debian \\\"12\\\"\"\n");
  const SystemInfo info = ReadSystemInfo(files);
  EXPECT_EQ(info.machine_id, "0123456789abcdef");
  EXPECT_EQ(info.system_uuid, info.machine_id) << "there is no firmware";
  EXPECT_EQ(info.kernel_version, "6.1.0-28-amd64");
  EXPECT_EQ(info.boot_id, "1-2-3");
  EXPECT_EQ(info.os_image, "Debian \"12\"");
  Put("/sys/class/dmi/id/product_uuid", "abc\n");
  EXPECT_EQ(ReadSystemInfo(files).system_uuid, "abc");
}

TEST_F(Files, CoresAndSocketsOfTheCpus) {
  const struct {
    const char* name;
    std::vector<std::pair<const char*, const char*>> cpus;  // socket and core
    CpuTopology want;
  } kCases[] = {
      {"two threads of a core", {{"0", "0"}, {"0", "0"}}, {1, 1}},
      {"two sockets, which count their cores each",
       {{"0", "0"}, {"0", "1"}, {"1", "0"}, {"1", "1"}, {"1", "1"}},
       {4, 2}},
      {"not known of one", {{"0", "0"}, {"", "1"}}, {0, 0}},
      {"nothing is known", {{"", ""}}, {0, 0}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    fs::FakeFileSystem machine(clock);
    std::set<int64_t> online;
    for (const auto& [socket, core] : c.cpus) {
      const auto cpu = static_cast<int64_t>(online.size());
      online.insert(cpu);
      const std::string top = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
      ASSERT_TRUE(
          machine.Replace(top + "physical_package_id", std::string(socket) + "\n", {}).ok());
      ASSERT_TRUE(machine.Replace(top + "core_id", std::string(core) + "\n", {}).ok());
    }
    EXPECT_EQ(ReadCpuTopology(machine, online), c.want);
  }
}

TEST_F(Files, ASystemWithoutFilesIsLinux) {
  const SystemInfo info = ReadSystemInfo(files);
  EXPECT_EQ(info.os_image, "Linux");
  EXPECT_EQ(info.machine_id, "");
}

TEST(CpuList, AsTheKernelAndPeopleWriteThem) {
  using Cpus = std::set<int64_t>;
  EXPECT_EQ(ParseCpuList("0-3\n").value_or(Cpus{}), (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(ParseCpuList("0,2-3,7").value_or(Cpus{}), (Cpus{0, 2, 3, 7}));
  EXPECT_EQ(ParseCpuList("1,1").value_or(Cpus{}), Cpus{1});
  for (const char* text : {"x", "3-1", "-1", "0-", "0-99999999"})
    EXPECT_FALSE(ParseCpuList(text).ok()) << text;
}

TEST_F(Machines, AreReadFromFiles) {
  EXPECT_FALSE(ReadMachine(files, "/root").ok()) << "no CPUs";
  Put("/sys/devices/system/cpu/online", "0-1\n");
  Put("/proc/meminfo", "MemFree: 1 kB\n");
  EXPECT_FALSE(ReadMachine(files, "/root").ok()) << "no memory";
  Put("/proc/meminfo", "MemTotal:       16302328 kB\nMemFree: 1 kB\n");
  Put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "3\n");
  Put("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
  Put("/sys/kernel/mm/hugepages/hugepages-64kB/other", "");
  Put("/sys/kernel/mm/hugepages/else", "");
  ASSERT_TRUE(files.MakeDirs("/root", 0700).ok());
  files.SetUsage("/root", {.capacity_bytes = 1000});
  const auto machine = ReadMachine(files, "/root");
  ASSERT_TRUE(machine.ok()) << ToString(machine.status());
  EXPECT_EQ(machine->cpus, 2);
  EXPECT_EQ(machine->memory_bytes, 16302328LL * 1024);
  EXPECT_EQ(machine->storage_bytes, 1000);
  EXPECT_EQ(machine->huge_pages, (std::vector<HugePages>{{"1GB", "hugepages-1Gi", 0},
                                                         {"2MB", "hugepages-2Mi", 3LL << 21},
                                                         {"64KB", "hugepages-64Ki", 0}}));
  EXPECT_FALSE(machine->apparmor || machine->selinux);
  Put("/sys/module/apparmor/parameters/enabled", "N\n");
  EXPECT_FALSE(ReadMachine(files, "/root")->apparmor);
  Put("/sys/module/apparmor/parameters/enabled", "Y\n");
  Put("/sys/fs/selinux/policyvers", "33");
  EXPECT_TRUE(ReadMachine(files, "/root")->apparmor);
  EXPECT_TRUE(ReadMachine(files, "/root")->selinux);
}

const Machine kMachine{.cpus = 4,
                       .online = {0, 1, 2, 3},
                       .memory_bytes = 16LL << 30,
                       .storage_bytes = 107374182400,
                       .huge_pages = {{"2MB", "hugepages-2Mi", 1 << 30}}};

TEST(NodeResources, AllocatableIsWhatReservationsLeave) {
  const NodeLimits limits{
      .max_pods = 110,
      .system_reserved = {{"cpu", "500m"}, {"memory", "1Gi"}},
      .kube_reserved = {{"memory", "1Gi"}},
      .eviction_hard = {{"memory.available", "100Mi"}, {"nodefs.available", "10%"}}};
  const auto node = ComputeNodeResources(kMachine, limits);
  ASSERT_TRUE(node.ok()) << ToString(node.status());
  const auto text = [](const kube::Resources& r, const char* name) {
    return r.at(name).ToString();
  };
  EXPECT_EQ(text(node->capacity, "cpu"), "4");
  EXPECT_EQ(text(node->capacity, "memory"), "16Gi");
  EXPECT_EQ(text(node->capacity, "pods"), "110");
  EXPECT_EQ(text(node->capacity, "hugepages-2Mi"), "1Gi");
  EXPECT_EQ(text(node->allocatable, "cpu"), "3500m");
  EXPECT_EQ(text(node->allocatable, "memory"), "13212Mi");
  EXPECT_EQ(node->allocatable.at("ephemeral-storage").Value(), 107374182400 - 10737418400)
      << "in single precision, as a kubelet reports it";
  EXPECT_EQ(text(node->allocatable, "pods"), "110");
}

TEST(NodeResources, CpusThatAreNamedAreTheReservedOnes) {
  const auto cpu = [](NodeLimits limits) {
    const auto node = ComputeNodeResources(kMachine, limits);
    return node.ok() ? node->allocatable.at("cpu").ToString() : std::string(Message(node.status()));
  };
  NodeLimits limits{.system_reserved = {{"cpu", "500m"}}, .kube_reserved = {{"cpu", "500m"}}};
  EXPECT_EQ(cpu(limits), "3");
  limits.reserved_cpus = "0-1";
  EXPECT_EQ(cpu(limits), "2");
  limits.reserved_cpus = "3-4";
  EXPECT_EQ(cpu(limits), "reservations: reservedSystemCPUs: CPU 4 is not online");
}

TEST(NodeResources, PodsForEachCoreNeverAboveTheirMost) {
  const auto pods = [](int64_t most, int64_t each) {
    return ComputeNodeResources(kMachine, {.max_pods = most, .pods_per_core = each})
        ->capacity.at("pods")
        .ToString();
  };
  EXPECT_EQ(pods(110, 0), "110");
  EXPECT_EQ(pods(110, 10), "40");
  EXPECT_EQ(pods(30, 10), "30");
}

TEST(NodeResources, ReservingMoreThanThereIsIsAnError) {
  EXPECT_EQ(Message(ComputeNodeResources(kMachine, {.system_reserved = {{"cpu", "8"}}}).status()),
            "invalid Node Allocatable configuration. Resource \"cpu\" has a reservation of 8 but "
            "capacity of 4. Expected capacity >= reservation.");
  EXPECT_FALSE(
      ComputeNodeResources(kMachine, {.eviction_hard = {{"nodefs.available", "x%"}}}).ok());
}

TEST(Thresholds, QuantitiesAndPartsOfTheWhole) {
  const auto bytes = [](const char* text) {
    const auto amount = ThresholdAmount(text, 107374182400);
    if (!amount.ok()) return std::string("error");
    return *amount ? fmt::format("{}", (*amount)->Value()) : "off";
  };
  EXPECT_EQ(bytes("100Mi"), "104857600");
  EXPECT_EQ(bytes("10%"), "10737418400");
  EXPECT_EQ(bytes("0%"), "off");
  EXPECT_EQ(bytes("100%"), "off");
  for (const char* text : {"", "x", "%", "-1%", "101%", "10 %"}) EXPECT_EQ(bytes(text), "error");
}

TEST_F(Routes, OfBothFamilies) {
  EXPECT_EQ(ReadDefaultRoutes(files).v4, "");
  Put("/proc/net/route", kRoute);
  Put("/proc/net/ipv6_route", kRoute6);
  const DefaultRoutes routes = ReadDefaultRoutes(files);
  EXPECT_EQ(routes.v4, "eth0") << "a route that rejects is none";
  EXPECT_EQ(routes.v6, "eth1");
}

const std::vector<InterfaceAddress> kAll = {
    {.interface = "lo", .address = "127.0.0.1", .loopback = true},
    {.interface = "lo", .address = "::1", .v6 = true, .loopback = true},
    {.interface = "cni0", .address = "10.88.0.1"},
    {.interface = "eth0", .address = "169.254.1.1"},
    {.interface = "eth0", .address = "192.168.1.7"},
    {.interface = "eth0", .address = "192.168.1.8"},
    {.interface = "eth1", .address = "fe80::1", .v6 = true},
    {.interface = "eth1", .address = "fd00::7", .v6 = true},
};

std::string Chosen(const DefaultRoutes& routes, const std::vector<std::string>& wanted = {},
                   const std::vector<InterfaceAddress>& all = kAll) {
  const auto chosen = ChooseAddresses(all, routes, {.ips = wanted, .node_name = "node-a"}, {});
  return chosen.ok() ? fmt::format("{}", fmt::join(*chosen, " "))
                     : std::string(Message(chosen.status()));
}

TEST(Addresses, TheDefaultRouteSaysWhichIsTheNodes) {
  EXPECT_EQ(Chosen({"eth0", "eth1"}), "192.168.1.7");
  EXPECT_EQ(Chosen({"eth0", "eth1"}, {"0.0.0.0"}), "192.168.1.7");
  EXPECT_EQ(Chosen({"eth0", "eth1"}, {"::"}), "fd00::7");
  EXPECT_EQ(Chosen({"", "eth1"}), "fd00::7");
  EXPECT_EQ(Chosen({"eth0", ""}, {"::"}), "192.168.1.7");
  EXPECT_EQ(Chosen({}), "10.88.0.1") << "without a route any that is not local";
  EXPECT_EQ(Chosen({"eth0", ""}, {}, {}),
            "no interface has an address that other machines can reach");
}

TEST(Addresses, TheNodesNameGoesBeforeTheDefaultRoute) {
  const struct {
    const char* name;
    std::vector<std::string> ips, named;
    std::string want;
  } kCases[] = {
      {"one that is there", {}, {"192.168.1.8"}, "192.168.1.8"},
      {"of a node whose name is its loopback's too", {}, {"127.0.1.1", "10.88.0.1"}, "10.88.0.1"},
      {"another machine's", {}, {"192.0.2.1"}, "192.168.1.7"},
      {"IPv4 goes first", {}, {"fd00::7", "192.168.1.8"}, "192.168.1.8"},
      {"IPv6 where it is preferred", {"::"}, {"192.168.1.8", "fd00::7"}, "fd00::7"},
      {"IPv6 alone", {}, {"fd00::7"}, "fd00::7"},
      {"no address", {}, {"nonsense"}, "192.168.1.7"},
      {"--node-ip says which", {"10.88.0.1"}, {"192.168.1.8"}, "10.88.0.1"},
  };
  for (const auto& c : kCases) {
    const auto chosen =
        ChooseAddresses(kAll, {"eth0", "eth1"}, {.ips = c.ips, .node_name = "node-a"}, c.named);
    ASSERT_TRUE(chosen.ok()) << c.name << chosen.status();
    EXPECT_EQ(*chosen, std::vector<std::string>{c.want}) << c.name;
  }
}

TEST(Addresses, TheNameIsLookedUpWhereItCounts) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  std::vector<std::string> asked;
  StatusOr<std::vector<std::string>> answer = std::vector<std::string>{"192.168.1.8"};
  const AddressSources sources{.files = files,
                               .list = [] { return kAll; },
                               .resolve =
                                   [&](const std::string& name) {
                                     asked.push_back(name);
                                     return answer;
                                   }};
  const auto read = [&](std::vector<std::string> ips, const std::string& name) {
    const auto found = ReadAddresses(sources, {.ips = std::move(ips), .node_name = name});
    return found.ok() ? found->front() : Message(found.status());
  };
  EXPECT_EQ(read({}, "node-a"), "192.168.1.8");
  answer = DeadlineExceeded("DNS is away");
  EXPECT_EQ(read({}, "node-a"), "10.88.0.1") << "as without a name";
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(read({"192.168.1.7"}, "node-a"), "192.168.1.7");
  EXPECT_EQ(read({}, "10.9.8.7"), "10.9.8.7") << "the name is an address";
  EXPECT_EQ(asked.size(), 2u);
}

TEST(Addresses, ANameStandsWhileItCannotBeLookedUp) {
  StatusOr<std::vector<std::string>> answer = NotFound("no host has it");
  const ResolveName resolve = Remembering([&](const std::string&) { return answer; });
  EXPECT_FALSE(resolve("node-a").ok());
  answer = std::vector<std::string>{"192.168.1.8"};
  EXPECT_EQ(*resolve("node-a"), *answer);
  const auto before = *answer;
  answer = DeadlineExceeded("DNS is away");
  EXPECT_EQ(*resolve("node-a"), before);
  answer = std::vector<std::string>{"10.88.0.1"};
  EXPECT_EQ(*resolve("node-a"), *answer);
}

TEST(Addresses, ARouterHasItsOwnOnTheLoopback) {
  const std::vector<InterfaceAddress> all = {
      {.interface = "eth0", .address = "169.254.7.7"},
      {.interface = "eth2", .address = "192.0.2.9"},
      {.interface = "lo", .address = "127.0.0.1", .loopback = true},
      {.interface = "lo", .address = "10.1.1.1", .loopback = true}};
  EXPECT_EQ(Chosen({"eth0", ""}, {}, all), "10.1.1.1");
}

TEST(Addresses, AnInterfaceThatIsDownIsNoWay) {
  std::vector<InterfaceAddress> all = kAll;
  for (auto& one : all) one.up = one.interface != "eth0";
  EXPECT_EQ(Chosen({"eth0", ""}, {}, all), "10.88.0.1");
}

TEST(Addresses, ThoseThatAreAskedForMustBeThere) {
  EXPECT_EQ(Chosen({"eth0", ""}, {"10.88.0.1"}), "10.88.0.1");
  EXPECT_EQ(Chosen({"eth0", ""}, {"192.168.1.8", "fd00::7"}), "192.168.1.8 fd00::7");
  EXPECT_EQ(Chosen({"eth0", ""}, {"fd00:0::7"}), "fd00:0::7") << "written in another way";
  EXPECT_EQ(Chosen({"eth0", ""}, {"10.0.0.9"}),
            "--node-ip: 10.0.0.9 is not the address of any interface of this machine");
  EXPECT_EQ(Chosen({"eth0", ""}, {"127.0.0.1"}), "--node-ip: 127.0.0.1 is a loopback address");
  EXPECT_EQ(Chosen({"eth0", ""}, {"fe80::1"}), "--node-ip: fe80::1 is a link-local address");
}

TEST(Addresses, TheKernelListsTheLoopback) {
  const auto all = ListInterfaceAddresses();
  ASSERT_TRUE(all.ok()) << all.status();
  const auto found = std::ranges::find(*all, "127.0.0.1", &InterfaceAddress::address);
  ASSERT_NE(found, all->end());
  EXPECT_TRUE(found->loopback && found->up && !found->v6);
}

using Places = Files;
const PodRoots kRoots{"/state/pods", "/kubelet"};

TEST_F(Places, ANewPodIsBelowTheRootAndOursOnceItIsMarked) {
  const auto first = FindPodPlace(files, kRoots, "u1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->path, "/kubelet/pods/u1");
  EXPECT_FALSE(first->ours);
  ASSERT_TRUE(MarkPodPlace(files, kRoots, "u1", {first->path, "file"}).ok());
  const auto second = FindPodPlace(files, {"/state/pods", "/srv/kubelet"}, "u1");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->path, "/kubelet/pods/u1") << "another root is for other pods";
  EXPECT_TRUE(second->ours);
  EXPECT_FALSE(files.Stat("/kubelet/pods/u1", false).ok());
  EXPECT_TRUE(files.Stat("/kubelet/pods", false).ok());
}

TEST_F(Places, OneOfBeforeTheMarksIsInTheirPlace) {
  Put("/state/pods/u1/etc-hosts", "x");
  const auto place = FindPodPlace(files, kRoots, "u1");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->path, "/state/pods/u1");
  EXPECT_TRUE(place->ours);
}

TEST_F(Places, AMarkThatWasBeingWrittenIsNone) {
  Put("/state/pods/u1/.root.new", "/kubel");
  const auto place = FindPodPlace(files, kRoots, "u1");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->path, "/kubelet/pods/u1");
  EXPECT_FALSE(place->ours);
}

TEST_F(Places, AMarkNamesADirectoryOfItsPodOrNothingIsKnown) {
  for (const std::string text :
       {"", "/", "/kubelet/pods/u2", "/kubelet/pods/u1/", "kubelet/pods/u1", "/pods/../pods/u1",
        "/a//pods/u1", "/a/./pods/u1", "/a/xpods/u1"}) {
    Put("/state/pods/u1/root", text);
    EXPECT_EQ(FindPodPlace(files, kRoots, "u1").status().code(), StatusCode::kFailedPrecondition)
        << text;
  }
  Put("/state/pods/u1/root", "/" + std::string(5000, 'x') + "/pods/u1");
  EXPECT_FALSE(FindPodPlace(files, kRoots, "u1").ok());
  files.Fail("/state/pods/u1", Internal("input/output error"));
  EXPECT_FALSE(FindPodPlace(files, kRoots, "u1").ok());
}

TEST_F(Places, AMarkNamesTheSourceOfItsPod) {
  ASSERT_TRUE(MarkPodPlace(files, kRoots, "u1", {"/kubelet/pods/u1", "file"}).ok());
  const auto mark = ReadPodMark(files, "/state/pods/u1", "u1");
  ASSERT_TRUE(mark.ok()) << mark.status();
  EXPECT_EQ((*mark)->path, "/kubelet/pods/u1");
  EXPECT_EQ((*mark)->source, "file");
  Put("/state/pods/u1/root", "/kubelet/pods/u1");
  EXPECT_EQ((*ReadPodMark(files, "/state/pods/u1", "u1"))->source, "") << "of an earlier version";
  for (const std::string& source :
       std::initializer_list<std::string>{" ", "a b", "file\n", "\x01", std::string(65, 'x')}) {
    Put("/state/pods/u1/root", "/kubelet/pods/u1\n" + source);
    EXPECT_EQ(ReadPodMark(files, "/state/pods/u1", "u1").status().code(),
              StatusCode::kFailedPrecondition)
        << source;
    EXPECT_FALSE(MarkPodPlace(files, kRoots, "u2", {"/kubelet/pods/u2", source}).ok());
  }
}

TEST_F(Places, NothingIsMarkedUnderANameThatIsNoUid) {
  for (const char* uid : {"", "..", "a/b", "."})
    EXPECT_FALSE(MarkPodPlace(files, kRoots, uid, {std::string("/kubelet/pods/") + uid, ""}).ok())
        << uid;
}

TEST_F(Places, TheDiskOfWhatIsNotThereYetIsTheOneItWillBeOn) {
  ASSERT_TRUE(files.MakeDirs("/srv", 0755).ok());
  files.SetUsage("/srv", {.capacity_bytes = 7});
  EXPECT_EQ(UsageAt(files, "/srv/a/kubelet")->capacity_bytes, 7u);
  files.Fail("/srv/a", Internal("input/output error"));
  EXPECT_FALSE(UsageAt(files, "/srv/a/kubelet").ok());
}

}  // namespace
}  // namespace splitlet::node
