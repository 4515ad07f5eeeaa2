#include "ctl/commands/logs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ctl/commands/find_pods.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::ctl {
namespace {

kube::Pod PodWith(const std::string& annotations) {
  kube::Pod pod;
  const auto decoded = kube::DecodeInto(
      R"({"metadata": {"name": "web", "annotations": {)" + annotations +
          R"(}}, "spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]}})",
      "pod", kube::Strictness::kStrict, pod);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return pod;
}

TEST(ContainerNames, AsKubectlChoosesThem) {
  const std::string chosen_b = R"("kubectl.kubernetes.io/default-container": "b")";
  const std::string chosen_x = R"("kubectl.kubernetes.io/default-container": "x")";
  const struct {
    const char* name;
    std::string annotations, wanted;
    const char *want, *notice;
  } kCases[] = {
      {"the first of several", "", "", "a", "Defaulted container \"a\" out of: a, b, i (init)\n"},
      {"that of the annotation", chosen_b, "", "b", ""},
      {"an annotation that names none", chosen_x, "", "a",
       "Default container name \"x\" not found in pod web\n"
       "Defaulted container \"a\" out of: a, b, i (init)\n"},
      {"an init container by name", chosen_b, "i", "i", ""},
      {"none of that name", "", "c",
       "container c is not valid for pod web, choose one of: [a, b, i (init)]", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    std::string notice;
    const auto chosen = ChooseContainerName(PodWith(c.annotations), c.wanted, notice);
    EXPECT_EQ(chosen.ok() ? *chosen : Message(chosen.status()), c.want);
    EXPECT_EQ(notice, c.notice);
  }
  std::string notice;
  kube::Pod one;
  one.mutable_spec()->add_containers()->set_name("only");
  EXPECT_EQ(ChooseContainerName(one, "", notice).value_or(""), "only");
  EXPECT_EQ(notice, "");
}

TEST(LogWords, ThoseThatDoNotGoTogetherAreRefused) {
  const WallTime now = WallFromNanos(1'790'000'000'000'000'000);
  const struct {
    const char* name;
    LogsOptions options;
    const char* want;
  } kCases[] = {
      {"neither pod nor process", {}, "want exactly one of a pod and --process NAME"},
      {"pod and process",
       {.pod = "a", .process = "gc"},
       "want exactly one of a pod and --process NAME"},
      {"two times",
       {.pod = "a", .since = "5m", .since_time = "2026-01-02T03:04:05Z"},
       "at most one of --since and --since-time may be used"},
      {"no duration",
       {.pod = "a", .since = "soon"},
       "--since: \"soon\" is not a duration such as 10m or 1h30m"},
      {"no bytes", {.pod = "a", .limit_bytes = 0}, "--limit-bytes must be greater than 0"},
      {"fewer bytes than none",
       {.pod = "a", .limit_bytes = -5},
       "--limit-bytes must be greater than 0"},
      {"fewer lines than none",
       {.pod = "a", .tail = -5},
       "--tail must be greater than or equal to -1"},
      {"a process has no times",
       {.process = "gc", .since = "5m"},
       "--process takes --tail, --limit-bytes and -f only"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Message(ParseLogOptions(c.options, now).status()), c.want);
  }
  const auto read = ParseLogOptions({.pod = "a", .since = "5m", .tail = 3}, now);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->since, now - 5min);
  EXPECT_EQ(read->tail_lines, 3u);
  const auto all = ParseLogOptions({.pod = "a", .tail = -1}, now);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_FALSE(all->tail_lines.has_value());
}

TEST(ProcessLogs, AreWhereItsSupervisorPutsThem) {
  const operate::Layout local{.top = ".run", .process_logs = "log"};
  EXPECT_EQ(ProcessLogPath(local, "pleg").value_or(""), "log/pleg/current");
  EXPECT_EQ(ProcessLogPath(local, "../pods").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(ProcessLogPath({}, "pleg").status()),
            "the journal keeps the log of pleg: journalctl -u splitlet-pleg");
  EXPECT_EQ(Message(ProcessLogPath({.top = "compose/.run", .compose = true}, "gc").status()),
            "docker keeps the log of gc: docker compose logs gc");
}

TEST(PodLogs, OfAComposeStackAreInItsFolder) {
  const std::string logs =
      std::filesystem::temp_directory_path() / fmt::format("splitlet-pod-logs-{}", getpid());
  const std::string inside = "/var/log/splitlet/pods/a/0.log";
  const operate::Layout compose{.top = ".run", .compose = true, .pod_logs = logs};
  EXPECT_EQ(PodLogPath(compose, inside), inside) << "not there: the runtime's of the host has it";
  std::filesystem::create_directories(logs + "/pods/a");
  std::ofstream(logs + "/pods/a/0.log") << "x";
  EXPECT_EQ(PodLogPath(compose, inside), logs + "/pods/a/0.log");
  EXPECT_EQ(PodLogPath({.top = ".run"}, inside), inside);
  std::filesystem::remove_all(logs);
}

}  // namespace
}  // namespace splitlet::ctl
