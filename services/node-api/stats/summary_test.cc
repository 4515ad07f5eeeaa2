#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Stats of a node without unknown values.
class SummaryTest : public NodeApiTest {
 protected:
  SummaryTest() {
    AllowAll();
    auto& reply = *stats->reply;
    auto& node = *reply.mutable_node();
    node.set_cpu_usage_core_ns(5'000'000'000);
    node.set_memory_working_set_bytes(4096);
    node.set_memory_total_bytes(8192);
    node.set_memory_rss_bytes(11);
    node.set_swap_total_bytes(50);
    node.set_swap_usage_bytes(20);
    node.set_booted_at_wall_ns(1'700'000'000'000'000'000);
    AddInterface(*node.add_interfaces(), "ens3", 70);
    SetFs(*reply.mutable_node_fs(), 100);
    SetFs(*reply.mutable_image_fs(), 300);
    auto& kubelet = *reply.add_system_containers();
    kubelet.set_name("kubelet");
    kubelet.set_started_at_wall_ns(1'700'000'000'000'000'000);
    SetUsage(*kubelet.mutable_usage(), "/system.slice/kubelet.service", 900);
    auto& container = *reply.add_containers();
    container.set_id("c1");
    container.set_writable_layer_bytes(10);
    container.set_writable_layer_inodes(3);
    SetUsage(*container.mutable_usage(), "/kubepods/podu1/c1", 1000);
    auto& pod = *reply.add_pods();
    pod.set_uid("u1");
    SetUsage(*pod.mutable_usage(), "/kubepods/podu1", 3000);
    AddInterface(*pod.add_interfaces(), "eth0", 1);
    AddInterface(*pod.add_interfaces(), "net1", 5);
    auto& log = *pod.add_logs();
    log.set_container("app");
    log.set_used_bytes(7);
    log.set_inodes_used(2);
    auto& volume = *pod.add_volumes();
    volume.set_name("data");
    volume.set_claim("claim");
    volume.set_at_wall_ns(1'700'000'000'000'000'000);
    SetFs(*volume.mutable_fs(), 40);
    pod.set_local_bytes(17);
    pod.set_local_inodes(4);
    pod.set_processes(6);
  }
  static void SetFs(v1::FsStats& fs, uint64_t capacity) {
    fs.set_capacity_bytes(capacity);
    fs.set_available_bytes(capacity - 1);
    fs.set_inodes(9);
    fs.set_inodes_free(5);
  }
  static void AddInterface(v1::InterfaceStats& stats, const std::string& name, uint64_t rx) {
    stats.set_name(name);
    stats.set_rx_bytes(rx);
    stats.set_rx_errors(rx + 1);
    stats.set_tx_bytes(rx + 2);
    stats.set_tx_errors(rx + 3);
  }
  static void SetUsage(v1::UsageStats& usage, const std::string& cgroup, uint64_t n) {
    usage.set_cgroup(cgroup);
    usage.set_cpu_usage_core_ns(n * 1'000'000);
    usage.set_memory_usage_bytes(n);
    usage.set_memory_working_set_bytes(n - 1);
    usage.set_memory_rss_bytes(n - 2);
    usage.set_memory_limit_bytes(n + 5);
    usage.set_page_faults(n + 1);
    usage.set_major_page_faults(0);
    usage.set_swap_usage_bytes(0);
    usage.mutable_memory_pressure()->mutable_some()->set_avg10(1.5);
    usage.mutable_io_pressure()->mutable_full()->set_total_us(12);
    auto& device = *usage.add_devices();
    device.set_name("/dev/vda");
    device.set_major(252);
    device.set_minor(1);
    device.set_reads(n);
    auto& operation = *device.add_operations();
    operation.set_name("Read");
    operation.set_bytes(n + 2);
  }
  std::string Get(const std::string& target) { return Text({.target = target}); }
};

TEST_F(SummaryTest, EverythingThatIsKnownOfAPod) {
  Start();
  PutPod();
  const std::string text = Get("/stats/summary");
  for (
      const char* part :
      {// The pod's own cgroup, not the sum of its containers.
       R"("usageCoreNanoSeconds":3000000000)", R"("usageBytes":3000,"workingSetBytes":2999)",
       R"("rssBytes":2998,"pageFaults":3001,"majorPageFaults":0)", R"("availableBytes":6,)",
       R"("psi":{"full":{"total":0,"avg10":0,"avg60":0,"avg300":0},"some":{"total":0,"avg10":1.5)",
       R"("io":{"time":)", R"("swapUsageBytes":0)",
       R"("name":"eth0","rxBytes":1,"rxErrors":2,"txBytes":3,"txErrors":4,"interfaces":[{"name":"eth0")",
       R"({"name":"net1","rxBytes":5)",
       R"("name":"data","pvcRef":{"name":"claim","namespace":"default"})",
       R"("time":"2023-11-14T22:13:20Z","availableBytes":39,"capacityBytes":40,"usedBytes":1,)",
       R"("usedBytes":10,"inodesFree":5,"inodes":9,"inodesUsed":3)",  // root file system
       R"("usedBytes":7,"inodesFree":5,"inodes":9,"inodesUsed":2)",   // the log
       R"("usedBytes":27,"inodesFree":5,"inodes":9,"inodesUsed":7)",  // all of them together
       R"("process_stats":{"process_count":6})"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(SummaryTest, EverythingThatIsKnownOfTheNode) {
  Start();
  const std::string text = Get("/stats/summary");
  for (const char* part :
       {R"("systemContainers":[{"name":"kubelet","startTime":"2023-11-14T22:13:20Z","cpu":)",
        R"("usageCoreNanoSeconds":900000000)", R"("swapAvailableBytes":30,"swapUsageBytes":20)",
        R"("availableBytes":4096,"workingSetBytes":4096,"rssBytes":11)",
        R"("name":"","interfaces":[{"name":"ens3","rxBytes":70)"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(SummaryTest, ContainersThatWriteApartFromImagesHaveTheDiskThatTheyWriteTo) {
  SetFs(*stats->reply->mutable_container_fs(), 700);
  Start();
  PutPod();
  const std::string text = Get("/stats/summary");
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  R"re("imageFs":[{]"time":"[^"]*","availableBytes":299,"capacityBytes":300)re"));
  EXPECT_THAT(
      text, testing::ContainsRegex(
                R"re("containerFs":[{]"time":"[^"]*","availableBytes":699,"capacityBytes":700)re"));
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  R"re("rootfs":[{]"time":"[^"]*","availableBytes":699,"capacityBytes":700)re"));
}

TEST_F(SummaryTest, TheReducedFormHasTimeMemoryAndSwapAlone) {
  Start();
  PutPod();
  const std::string text = Get("/stats/summary?only_cpu_and_memory=true");
  for (const char* part : {R"("cpu":)", R"("memory":)", R"("swap":)", R"("systemContainers":)"})
    EXPECT_THAT(text, HasSubstr(part));
  for (const char* part :
       {R"("fs":)", R"("network":)", R"("volume":)", R"("rootfs":)", R"("logs":)", R"("io":)",
        R"("rlimit":)", R"("runtime":)", "ephemeral-storage", "process_stats"})
    EXPECT_THAT(text, Not(HasSubstr(part)));
}

TEST_F(SummaryTest, RatesOfPodsAndSystemContainers) {
  Start();
  PutPod();
  EXPECT_EQ(Code({.target = "/stats/summary"}), 200);
  all.Advance(std::chrono::seconds{10});
  auto& reply = *stats->reply;
  reply.set_at_wall_ns(reply.at_wall_ns() + 10'000'000'000);
  reply.mutable_pods(0)->mutable_usage()->set_cpu_usage_core_ns(5'000'000'000);
  reply.mutable_system_containers(0)->mutable_usage()->set_cpu_usage_core_ns(1'900'000'000);
  EXPECT_THAT(Get("/stats/summary"), AllOf(HasSubstr(R"("usageNanoCores":200000000)"),
                                           HasSubstr(R"("usageNanoCores":100000000)")));
}

TEST_F(SummaryTest, ResourceMetricsWithSwap) {
  Start();
  PutPod();
  stats->reply->mutable_containers(0)->mutable_usage()->set_swap_limit_bytes(64);
  const std::string text = Get("/metrics/resource");
  const std::string labels = R"({container="app",namespace="default",pod="web"})";
  for (const std::string& line :
       {"container_swap_usage_bytes" + labels + " 0 ",
        "container_swap_limit_bytes" + labels + " 64 ",
        std::string(R"(pod_swap_usage_bytes{namespace="default",pod="web"} 0 )"),
        std::string(R"(pod_cpu_usage_seconds_total{namespace="default",pod="web"} 3 )"),
        std::string("node_swap_usage_bytes 20 ")})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(SummaryTest, AContainerWithoutTimeHasNoSeriesOfIt) {
  auto& container = *stats->reply->mutable_containers(0);
  container.clear_usage();
  container.set_memory_working_set_bytes(9);
  stats->reply->clear_pods();
  Start();
  PutPod();
  const std::string text = Get("/metrics/resource");
  EXPECT_THAT(text, Not(HasSubstr("container_cpu_usage_seconds_total")));
  EXPECT_THAT(text, HasSubstr("container_memory_working_set_bytes{"));
}

TEST_F(SummaryTest, CadvisorOfContainersPodsAndTheMachine) {
  stats->reply->mutable_containers(0)->mutable_usage()->clear_memory_limit_bytes();
  Start();
  PutPod();
  const int calls = stats->calls;
  const std::string text = Get("/metrics/cadvisor");
  EXPECT_EQ(stats->detailed_calls, 1);
  EXPECT_EQ(stats->calls, calls);
  const std::string container =
      R"({container="app",id="/kubepods/podu1/c1",image="busybox",name="c1",namespace="default",pod="web")";
  const std::string pod =
      R"({container="",id="/kubepods/podu1",image="",name="",namespace="default",pod="web")";
  for (const std::string& line :
       {"container_cpu_usage_seconds_total" + container + R"(,cpu="total"} 1 )",
        "container_cpu_usage_seconds_total" + pod + R"(,cpu="total"} 3 )",
        "container_spec_memory_limit_bytes" + container + "} 0 ",
        "container_spec_memory_limit_bytes" + pod + "} 3005 ",
        "container_memory_rss" + container + "} 998 ",
        "container_memory_failures_total" + container +
            R"(,failure_type="pgfault",scope="hierarchy"} 1001 )",
        "container_fs_reads_total" + container + R"(,device="/dev/vda"} 1000 )",
        "container_fs_usage_bytes" + container + R"(,device=""} 10 )",
        "container_network_receive_bytes_total" + pod + R"(,interface="eth0"} 1 )",
        "container_network_transmit_errors_total" + pod + R"(,interface="net1"} 8 )",
        "container_pressure_io_stalled_seconds_total" + container + "} ",
        std::string(R"(container_cpu_usage_seconds_total{container="",id="/",)"),
        std::string(R"(id="/system.slice/kubelet.service")"),
        std::string(R"(machine_swap_bytes{boot_id="b",machine_id="m",system_uuid="s"} 50)"),
        std::string(R"(kernelVersion="6.1",osVersion="Debian"} 1)"),
        std::string("container_scrape_error 0")})
    EXPECT_THAT(text, HasSubstr(line));
  for (const char* absent :
       {"container_cpu_cfs",  // without a quota there are no periods
        "container_fs_limit_bytes", "container_fs_inodes", "container_ulimits_soft"})
    EXPECT_THAT(text, Not(HasSubstr(absent)));
}

TEST_F(SummaryTest, CadvisorWithDetails) {
  auto& usage = *stats->reply->mutable_containers(0)->mutable_usage();
  usage.set_open_files(9);
  usage.set_sockets(0);
  usage.set_max_threads(0);
  usage.set_max_open_files(-1);
  usage.set_memory_limit_hits(2);
  usage.set_memory_max_usage_bytes(1200);
  usage.set_memory_reservation_bytes(0);
  usage.set_memory_kernel_bytes(11);
  usage.set_memory_active_file_bytes(12);
  usage.set_memory_inactive_file_bytes(13);
  usage.set_oom_kills(3);
  usage.set_cpu_burst_periods(4);
  usage.set_cpu_burst_ns(5'000'000'000);
  Start();
  PutPod();
  const std::string text = Get("/metrics/cadvisor");
  const std::string container =
      R"({container="app",id="/kubepods/podu1/c1",image="busybox",name="c1",namespace="default",pod="web")";
  for (const std::string& line :
       {"container_file_descriptors" + container + "} 9 ", "container_sockets" + container + "} 0 ",
        "container_threads_max" + container + "} 0 ",
        "container_ulimits_soft" + container + R"(,ulimit="max_open_files"} -1 )",
        "container_memory_failcnt" + container + "} 2 ",
        "container_memory_max_usage_bytes" + container + "} 1200 ",
        "container_spec_memory_reservation_limit_bytes" + container + "} 0 ",
        "container_memory_kernel_usage" + container + "} 11 ",
        "container_memory_total_active_file_bytes" + container + "} 12 ",
        "container_memory_total_inactive_file_bytes" + container + "} 13 ",
        "container_oom_events_total" + container + "} 3 ",
        "container_cpu_cfs_burst_periods_total" + container + "} 4 ",
        "container_cpu_cfs_burst_seconds_total" + container + "} 5 ",
        "container_blkio_device_usage_total" + container +
            R"(,device="/dev/vda",major="252",minor="1",operation="Read"} 1002 )"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(SummaryTest, APodWithoutACgroupHasTheRoomOfItsContainers) {
  const struct {
    const char* name;
    std::optional<uint64_t> limit;
    const char* want;  // text after the pod's "time"
  } kCases[] = {
      {"a limit", 1500, R"("availableBytes":501,"usageBytes":1000,"workingSetBytes":999)"},
      {"more used than the limit", 900, R"("availableBytes":0,"usageBytes":1000,)"},
      {"no limit", std::nullopt, R"(Z","usageBytes":1000,"workingSetBytes":999)"},
  };
  stats->reply->mutable_pods(0)->clear_usage();
  Start();
  PutPod();
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    auto& usage = *stats->reply->mutable_containers(0)->mutable_usage();
    usage.clear_memory_limit_bytes();
    if (c.limit) usage.set_memory_limit_bytes(*c.limit);
    all.Advance(std::chrono::seconds{10});
    const std::string text = Get("/stats/summary");
    const std::string pod = text.substr(text.find(R"("inodesUsed":2})"));  // after the containers
    EXPECT_THAT(pod, HasSubstr(c.want));
  }
}

}  // namespace
}  // namespace splitlet::node_api
