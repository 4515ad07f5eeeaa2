#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(MergeMetrics, AsOneKubelet) {
  const std::string text = MergeMetrics(
      {{"pleg",
        "# HELP a_total Help\n# TYPE a_total counter\na_total{x=\"1\"} 2\n"
        "# TYPE g gauge\ng 5\n# TYPE process_open_fds gauge\nprocess_open_fds 7\n"
        "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 0.5\nh_count 1\n"},
       {"gc",
        "# TYPE a_total counter\na_total{x=\"1\"} 3\na_total{x=\"2 }\"} 1\n# TYPE g gauge\ng 6\n"
        "# TYPE process_open_fds gauge\nprocess_open_fds 9\nnothing\n"
        "# TYPE splitlet_build_info gauge\nsplitlet_build_info{process=\"gc\"} 1\n"
        "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\n"}},
      [](std::string_view family) { return family != "hidden"; });
  EXPECT_EQ(text,
            "# HELP a_total Help\n# TYPE a_total counter\na_total{x=\"1\"} 5\n"
            "a_total{x=\"2 }\"} 1\n# TYPE g gauge\ng 5\n# TYPE h histogram\n"
            "h_bucket{le=\"+Inf\"} 3\nh_sum 1.5\nh_count 3\n# TYPE process_open_fds gauge\n"
            "process_open_fds{process=\"pleg\"} 7\nprocess_open_fds{process=\"gc\"} 9\n"
            "# TYPE splitlet_build_info gauge\nsplitlet_build_info{process=\"gc\"} 1\n");
}

class StatsTest : public NodeApiTest {
 protected:
  StatsTest() {
    AllowAll();
    auto& reply = *stats->reply;
    auto& node = *reply.mutable_node();
    node.set_cpu_usage_core_ns(5'000'000'000);
    node.set_memory_working_set_bytes(4096);
    node.set_memory_total_bytes(8192);
    node.set_booted_at_wall_ns(1'700'000'000'000'000'000);
    node.set_max_pids(100);
    node.set_running_pids(5);
    reply.mutable_node_fs()->set_capacity_bytes(100);
    reply.mutable_node_fs()->set_available_bytes(40);
    for (const char* id : {"c1", "foreign"}) {
      auto& container = *reply.add_containers();
      container.set_id(id);
      container.set_cpu_usage_core_ns(1'500'000'000);
      container.set_memory_working_set_bytes(1024);
      container.set_writable_layer_bytes(10);
    }
  }
};

TEST_F(StatsTest, Summary) {
  Start();
  PutPod();
  const std::string whole = Text({.target = "/stats/summary"});
  EXPECT_THAT(whole, AllOf(HasSubstr(R"("nodeName":"node-a")"), HasSubstr(R"("usedBytes":60)"),
                           HasSubstr(R"("usageCoreNanoSeconds":1500000000)"),
                           HasSubstr(R"("podRef":{"name":"web","namespace":"default","uid":"u1"})"),
                           HasSubstr(R"("maxpid":100)"), Not(HasSubstr("foreign")),
                           Not(HasSubstr("usageNanoCores"))));
  const std::string reduced = Text({.target = "/stats/summary?only_cpu_and_memory=true"});
  EXPECT_THAT(reduced, AllOf(HasSubstr(R"("cpu":)"), Not(HasSubstr(R"("fs":)")),
                             Not(HasSubstr("rootfs")), Not(HasSubstr("rlimit"))));
  EXPECT_EQ(stats->calls, 2);  // one call at the start, and one for both requests
}

TEST_F(StatsTest, TheFirstStatsHaveRatesSinceTheStart) {
  Start();
  PutPod();
  all.Advance(std::chrono::seconds{10});
  EXPECT_EQ(stats->calls, 1);
  stats->reply->set_at_wall_ns(stats->reply->at_wall_ns() + 10'000'000'000);
  stats->reply->mutable_containers(0)->set_cpu_usage_core_ns(2'500'000'000);
  EXPECT_THAT(Text({.target = "/stats/summary"}), HasSubstr(R"("usageNanoCores":100000000)"));
}

TEST_F(StatsTest, RatesCountFromTheFirstAnswerThatGcGives) {
  const auto reply = stats->reply;
  stats->reply = Unavailable("gc starts");
  Start();
  PutPod();
  const int before = stats->calls;
  EXPECT_GT(before, 0);
  all.Advance(std::chrono::seconds{10});
  EXPECT_EQ(stats->calls, before + 2) << "every five seconds";
  stats->reply = reply;
  all.Advance(std::chrono::minutes{1});
  EXPECT_EQ(stats->calls, before + 3) << "and no more than once";
  stats->reply->set_at_wall_ns(reply->at_wall_ns() + 10'000'000'000);
  stats->reply->mutable_containers(0)->set_cpu_usage_core_ns(2'500'000'000);
  EXPECT_THAT(Text({.target = "/stats/summary"}), HasSubstr(R"("usageNanoCores":100000000)"));
}

TEST_F(StatsTest, ResourceMetrics) {
  Start();
  PutPod();
  const std::string text = Text({.target = "/metrics/resource"});
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("container_cpu_usage_seconds_total{container=\"app\",namespace=\"default\","
                      "pod=\"web\"} 1.5 1767225600000\n"),
            HasSubstr("node_cpu_usage_seconds_total 5 1767225600000\n"),
            HasSubstr("pod_memory_working_set_bytes{namespace=\"default\",pod=\"web\"} 1024 "),
            HasSubstr("resource_scrape_error 0")));
  EXPECT_THAT(Text({.target = "/metrics/cadvisor"}),
              AllOf(HasSubstr("container_cpu_usage_seconds_total{container=\"app\",id=\"\",image="
                              "\"busybox\",name=\"c1\",namespace=\"default\",pod=\"web\",cpu="
                              "\"total\"} 1.5"),
                    HasSubstr("machine_memory_bytes{boot_id=\"b\""),
                    HasSubstr("machine_cpu_cores{boot_id=\"b\",machine_id=\"m\","
                              "system_uuid=\"s\"} 4 "),
                    HasSubstr("machine_cpu_physical_cores{boot_id=\"b\",machine_id=\"m\","
                              "system_uuid=\"s\"} 2 "),
                    HasSubstr("machine_cpu_sockets{boot_id=\"b\",machine_id=\"m\","
                              "system_uuid=\"s\"} 1 ")));
}

TEST_F(StatsTest, WithoutGc) {
  stats->reply = Unavailable("gc is away");
  Start();
  EXPECT_THAT(Text({.target = "/metrics/resource"}),
              AllOf(HasSubstr("200 "), HasSubstr("resource_scrape_error 1")));
  EXPECT_EQ(Text({.target = "/stats/summary"}), "500 Internal Error: gc is away");
}

TEST_F(StatsTest, MetricsOfAllProcesses) {
  processes->texts["pleg"] =
      "# TYPE prober_probe_total counter\nprober_probe_total{result=\"failed\"} 1\n"
      "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 3\n";
  Start();
  EXPECT_THAT(Text({.target = "/metrics"}),
              AllOf(HasSubstr("splitlet_scrape_up{process=\"pleg\"} 1\n"),
                    HasSubstr("splitlet_scrape_up{process=\"gc\"} 0"),
                    HasSubstr("kubelet_http_requests_total{"), Not(HasSubstr("prober_probe"))));
  EXPECT_THAT(Text({.target = "/metrics/probes"}),
              AllOf(HasSubstr("prober_probe_total{result=\"failed\"} 1"),
                    HasSubstr("process_start_time_seconds{process=\"pleg\"} 3"),
                    Not(HasSubstr("kubelet_http"))));
}

}  // namespace
}  // namespace splitlet::node_api
