#include "libs/cri/observe.h"

#include <gtest/gtest.h>

#include <map>

#include "libs/base/text.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::cri {
namespace {

class ObserveTest : public ::testing::Test {
 protected:
  Deadline Soon() { return After(clock_, 120s); }
  SandboxId RunSandbox(const TestPod& pod) {
    runtime_.AddImage("busybox");
    return *runtime_.RunPodSandbox(pod.Config(), "", Soon());
  }
  ContainerId Run(const SandboxId& sandbox, const TestPod& pod,
                  const runtime::v1::ContainerConfig& config) {
    const ContainerId id = *runtime_.CreateContainer(sandbox, config, pod.Config(), Soon());
    EXPECT_TRUE(runtime_.StartContainer(id, Soon()).ok());
    return id;
  }
  v1::ObservedPod Look() {
    auto pod = observer_.Observe("uid-1", Soon());
    EXPECT_TRUE(pod.ok()) << pod.status();
    return pod.ok() ? *pod : v1::ObservedPod();
  }

  FakeClock clock_;
  FakeRuntime runtime_{clock_};
  std::map<std::string, std::string> files_;
  Observer observer_{
      {runtime_, clock_, [this](const std::string& path, uint64_t max) -> StatusOr<std::string> {
         const auto found = files_.find(path);
         if (found == files_.end()) return NotFound("no such file");
         if (found->second == "broken") return Internal("input/output error");
         const std::string& all = found->second;
         return all.size() > max ? all.substr(all.size() - max) : all;
       }}};
  TestPod pod_{"web", "uid-1"};
};

TEST_F(ObserveTest, LabelsAndAnnotationsBecomeFields) {
  const SandboxId sandbox = RunSandbox(pod_);
  Run(sandbox, pod_, pod_.ContainerConfig("app", 4));
  const auto pod = Look();
  EXPECT_EQ(pod.name(), "web");
  EXPECT_EQ(pod.namespace_(), "default");
  EXPECT_EQ(pod.runtime_name(), "containerd");
  EXPECT_EQ(pod.listed_at().monotonic_ns(), clock_.Now().monotonic.count());
  ASSERT_EQ(pod.sandboxes_size(), 1);
  EXPECT_EQ(pod.sandboxes(0).state(), v1::SandboxRecord::READY);
  EXPECT_EQ(pod.sandboxes(0).node_annotation(), "state/node");
  EXPECT_EQ(pod.sandboxes(0).source_annotation(), "file");
  EXPECT_EQ(pod.sandboxes(0).ips_size(), 1);
  ASSERT_EQ(pod.containers_size(), 1);
  const auto& app = pod.containers(0);
  EXPECT_EQ(app.sandbox_id(), sandbox.str());
  EXPECT_EQ(app.state(), v1::ContainerRecord::RUNNING);
  EXPECT_EQ(app.restart_count(), 4);
  EXPECT_EQ(app.hash(), "8e45cbd0");
  EXPECT_EQ(app.grace_period_seconds(), 30);
  EXPECT_EQ(app.finished_at_ns(), 0);
}

TEST_F(ObserveTest, NewestFirstAndOnlyTheReadyNewestSandboxHasAddresses) {
  TestPod second = pod_;
  second.attempt = 1;
  const SandboxId old = RunSandbox(pod_);
  Run(old, pod_, pod_.ContainerConfig("app", 0));
  const SandboxId next = RunSandbox(second);
  Run(next, second, pod_.ContainerConfig("app", 1));
  auto pod = Look();
  ASSERT_EQ(pod.sandboxes_size(), 2);
  EXPECT_EQ(pod.sandboxes(0).attempt(), 1u);
  EXPECT_EQ(pod.sandboxes(0).ips_size(), 1);
  EXPECT_EQ(pod.sandboxes(1).ips_size(), 0);
  EXPECT_EQ(pod.containers(0).restart_count(), 1);
  runtime_.SetIps(next, {"10.0.0.7", "not an address"});
  EXPECT_EQ(Look().sandboxes(0).ips_size(), 0);
  EXPECT_TRUE(runtime_.StopPodSandbox(next, Soon()).ok());
  EXPECT_EQ(Look().sandboxes(0).ips_size(), 0);
}

TEST_F(ObserveTest, TheHigherAttemptIsTheNewerWhateverTheWallClockDid) {
  const SandboxId sandbox = RunSandbox(pod_);
  Run(sandbox, pod_, pod_.ContainerConfig("app", 0));
  clock_.SetWall(clock_.WallNow() - 6h);
  Run(sandbox, pod_, pod_.ContainerConfig("app", 1));
  const auto pod = Look();
  ASSERT_EQ(pod.containers_size(), 2);
  EXPECT_LT(pod.containers(0).created_at_ns(), pod.containers(1).created_at_ns());
  EXPECT_EQ(pod.containers(0).attempt(), 1u);
}

TEST_F(ObserveTest, WhatIsRemovedMeanwhileIsLeftOutAndOtherErrorsFail) {
  Run(RunSandbox(pod_), pod_, pod_.ContainerConfig("app", 0));
  runtime_.AddFault({.method = "PodSandboxStatus", .code = StatusCode::kNotFound, .times = 1});
  runtime_.AddFault({.method = "ContainerStatus", .code = StatusCode::kNotFound, .times = 1});
  const auto pod = Look();
  EXPECT_EQ(pod.sandboxes_size(), 0);
  EXPECT_EQ(pod.containers_size(), 0);
  EXPECT_EQ(pod.name(), "web");
  runtime_.AddFault({.method = "ContainerStatus", .code = StatusCode::kInternal, .times = 1});
  EXPECT_EQ(observer_.Observe("uid-1", Soon()).status().code(), StatusCode::kInternal);
  const auto unknown = observer_.Observe("uid-2", Soon());
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->containers_size() + unknown->sandboxes_size(), 0);
}

TEST_F(ObserveTest, AListingThatIsGivenIsNotAskedFor) {
  const SandboxId sandbox = RunSandbox(pod_);
  Run(sandbox, pod_, pod_.ContainerConfig("app", 0));
  const PodListing listing{.listed_at = clock_.Now() - 1s,
                           .sandboxes = *runtime_.ListPodSandbox("uid-1", Soon()),
                           .containers = *runtime_.ListContainers({.pod_uid = "uid-1"}, Soon())};
  const auto listings = [this] {
    return runtime_.Calls("ListPodSandbox") + runtime_.Calls("ListContainers");
  };
  const size_t before = listings();
  auto pod = observer_.Observe("uid-1", Soon(), nullptr, &listing);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(listings(), before);
  EXPECT_EQ(pod->listed_at().monotonic_ns(), (clock_.Now() - 1s).monotonic.count());
  const auto fresh = Look();
  pod->mutable_listed_at()->CopyFrom(fresh.listed_at());
  EXPECT_EQ(pod->SerializeAsString(), fresh.SerializeAsString());
}

TEST_F(ObserveTest, WhatLastsIsNotAskedForAgain) {
  const SandboxId sandbox = RunSandbox(pod_);
  const ContainerId app = Run(sandbox, pod_, pod_.ContainerConfig("app", 0));
  auto known = Look();
  const auto asked = [&] {
    return std::pair(runtime_.Calls("PodSandboxStatus"), runtime_.Calls("ContainerStatus"));
  };
  const auto look = [&] {
    auto pod = observer_.Observe("uid-1", Soon(), &known);
    EXPECT_TRUE(pod.ok()) << pod.status();
    known = *pod;
    auto fresh = Look();
    fresh.mutable_listed_at()->CopyFrom(known.listed_at());
    EXPECT_EQ(known.SerializeAsString(), fresh.SerializeAsString()) << "as if all were asked";
  };
  auto before = asked();
  look();
  EXPECT_EQ(asked(), std::pair(before.first + 1, before.second + 1)) << "only by the fresh listing";
  ASSERT_TRUE(runtime_.StopContainer(app, 1, Soon()).ok());
  before = asked();
  look();
  EXPECT_EQ(asked(), std::pair(before.first + 1, before.second + 2)) << "its exit was asked for";
  ASSERT_TRUE(runtime_.StopPodSandbox(sandbox, Soon()).ok());
  before = asked();
  look();
  EXPECT_EQ(asked(), std::pair(before.first + 1, before.second + 2)) << "why it ended may change";
  EXPECT_EQ(known.sandboxes(0).state(), v1::SandboxRecord::NOT_READY);
  EXPECT_EQ(known.sandboxes(0).ips_size(), 0);
  ASSERT_TRUE(runtime_.SetReason(app, "OOMKilled").ok());
  look();
  EXPECT_EQ(known.containers(0).reason(), "OOMKilled");
  clock_.Advance(11s);
  before = asked();
  look();
  EXPECT_EQ(asked(), std::pair(before.first + 1, before.second + 1)) << "it is settled";
}

std::string Numbered(int lines) {
  std::string log;
  for (int i = 1; i <= lines; ++i)
    log += fmt::format("2026-01-02T03:04:05.6Z stdout F line {}\n", i);
  return log;
}

std::string Times(int count, std::string_view text) {
  std::string all;
  while (count-- > 0) all += text;
  return all;
}

TEST_F(ObserveTest, ARelativePathOfTheMessageIsBelowTheRoot) {
  auto config = pod_.ContainerConfig("app", 0);
  (*config.mutable_annotations())["io.kubernetes.container.terminationMessagePath"] = "log/end";
  auto* mount = config.add_mounts();
  mount->set_container_path("/log/end");
  mount->set_host_path("/host/log");
  Run(RunSandbox(pod_), pod_, config);
  files_["/host/log"] = "bye";
  ASSERT_TRUE(runtime_.ExitContainer("uid-1", "app", 1).ok());
  EXPECT_EQ(Look().containers(0).message(), "bye");
}

TEST_F(ObserveTest, UserAndResourcesAsTheRuntimeShowsThem) {
  const SandboxId sandbox = RunSandbox(pod_);
  Run(sandbox, pod_, pod_.ContainerConfig("silent", 0));
  EXPECT_FALSE(Look().containers(0).has_user() || Look().containers(0).has_resources());
  auto config = pod_.ContainerConfig("app", 0);
  auto& security = *config.mutable_linux()->mutable_security_context();
  security.mutable_run_as_user()->set_value(1000);
  security.mutable_run_as_group()->set_value(2000);
  security.add_supplemental_groups(3000);
  auto& resources = *config.mutable_linux()->mutable_resources();
  resources.set_cpu_shares(102);
  resources.set_cpu_quota(50'000);
  resources.set_cpu_period(100'000);
  resources.set_memory_limit_in_bytes(1 << 20);
  Run(sandbox, pod_, config);
  const auto pod = Look();
  const auto& app = pod.containers(0).name() == "app" ? pod.containers(0) : pod.containers(1);
  EXPECT_EQ(app.user().uid(), 1000);
  EXPECT_EQ(app.user().gid(), 2000);
  ASSERT_EQ(app.user().supplemental_groups_size(), 1);
  EXPECT_EQ(app.user().supplemental_groups(0), 3000);
  EXPECT_EQ(app.resources().cpu_request_millis(), 100);
  EXPECT_EQ(app.resources().cpu_limit_millis(), 500);
  EXPECT_EQ(app.resources().memory_limit_bytes(), 1 << 20);
}

TEST_F(ObserveTest, TerminationMessages) {
  const struct {
    const char* name;
    const char* policy;
    int32_t exit_code;
    std::optional<std::string> file;
    std::optional<std::string> log;
    std::string runtime_message, want;
  } kCases[] = {
      {"the file is the message", "File", 1, "bye", std::nullopt, "", "bye"},
      {"it stands behind the runtime's", "File", 0, "bye", std::nullopt, "killed", "killed: bye"},
      {"only its end is kept", "File", 0, "x" + std::string(4096, 'y'), std::nullopt, "",
       std::string(4096, 'y')},
      {"no file is no message", "File", 1, std::nullopt, Numbered(2), "", ""},
      {"a broken file says so", "File", 1, "broken", std::nullopt, "",
       "Error on reading termination log /host/log: input/output error"},
      {"an empty file falls back to the log", "FallbackToLogsOnError", 1, "", Numbered(2), "",
       "line 1\nline 2\n"},
      {"not after success", "FallbackToLogsOnError", 0, "", Numbered(2), "", ""},
      {"a file goes before the log", "FallbackToLogsOnError", 1, "bye", Numbered(2), "", "bye"},
      {"bytes that are no text are replaced", "File", 1, "no\xFFtext\xE2\x82", std::nullopt, "",
       "no\uFFFDtext\uFFFD\uFFFD"},
      {"so is NUL", "File", 1, std::string("a\0b", 3), std::nullopt, "", "a\uFFFDb"},
      {"a character that the limit cuts is left out", "File", 1, Times(1366, "\u20ac"),
       std::nullopt, "", Times(1365, "\u20ac")},
      {"the limit holds for what bytes become", "File", 1, std::string(4096, '\xFF'), std::nullopt,
       "", Times(1365, "\uFFFD")},
      {"the runtime's message is text too", "File", 1, "bye", std::nullopt, "\xC3(",
       "\uFFFD(: bye"},
      {"a log of bytes", "FallbackToLogsOnError", 1, "",
       std::string("2026-01-02T03:04:05.6Z stdout F \xFF\0\n", 35), "", "\uFFFD\uFFFD\n"},
      {"a log that cannot be read says so", "FallbackToLogsOnError", 1, "", std::nullopt, "",
       "Error on reading termination message from logs: no such file"},
  };
  const SandboxId sandbox = RunSandbox(pod_);
  uint32_t attempt = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    auto config = pod_.ContainerConfig("app", ++attempt);
    (*config.mutable_annotations())["io.kubernetes.container.terminationMessagePolicy"] = c.policy;
    auto* mount = config.add_mounts();
    mount->set_container_path("/dev/termination-log");
    mount->set_host_path("/host/log");
    runtime_.SetBehaviour("", "", {{.message = c.runtime_message}});
    const ContainerId id = Run(sandbox, pod_, config);
    files_.clear();
    if (c.file) files_["/host/log"] = *c.file;
    if (c.log) files_[runtime_.ContainerStatus(id, Soon())->log_path] = *c.log;
    ASSERT_TRUE(runtime_.ExitContainer("uid-1", "app", c.exit_code).ok());
    const auto pod = Look();
    EXPECT_EQ(pod.containers(0).message(), c.want);
    EXPECT_TRUE(v1::ObservedPod().ParseFromString(pod.SerializeAsString()));
    clock_.Advance(1s);
  }
}

TEST(LogTailTest, TheLast80LinesOfEitherFormat) {
  const std::string tail = LastLogLines(Numbered(200), false);
  EXPECT_TRUE(tail.starts_with("line 121\n"));
  EXPECT_TRUE(tail.ends_with("line 200\n"));
  EXPECT_EQ(
      LastLogLines(
          "cut off\n2026-01-02T03:04:05Z stderr P one \n2026-01-02T03:04:05Z stderr F two\n", true),
      "one two\n");
  EXPECT_EQ(LastLogLines(R"({"log":"a\n","stream":"stdout","time":"2026-01-02T03:04:05Z"})"
                         "\n",
                         false),
            "a\n");
  EXPECT_EQ(LastLogLines("garbage\n", false), "");
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += R"({"a":)";
  EXPECT_EQ(LastLogLines(deep + "\n", false), "") << "and the stack lives";
}

TEST_F(ObserveTest, TheLogTailIsBounded) {
  files_["/log"] = "2026-01-02T03:04:05Z stdout F " + std::string(3000, 'z') + "\n";
  Container container;
  container.state = ContainerState::kExited;
  container.exit_code = 1;
  container.log_path = "/log";
  container.annotations = {
      {"io.kubernetes.container.terminationMessagePolicy", "FallbackToLogsOnError"}};
  const auto read = [this](const std::string& path, uint64_t) -> StatusOr<std::string> {
    return files_[path];
  };
  EXPECT_EQ(ResolveMessage(container, read).size(), 2048u);
  files_["/log"] = "2026-01-02T03:04:05Z stdout F " + Times(1000, "\u20ac") + "\n";
  EXPECT_EQ(ResolveMessage(container, read), Times(682, "\u20ac") + "\n") << "cut at a character";
  container.reason = "ContainerCannotRun";
  EXPECT_EQ(ResolveMessage(container, read), "");
}

TEST(ToRecordTest, EveryStringIsTextAndBounded) {
  const std::string bad = "a\xFF" + std::string(1, '\0') + std::string(5000, 'x');
  Sandbox sandbox;
  sandbox.id = SandboxId(bad);
  sandbox.ips = {bad};
  sandbox.runtime_handler = bad;
  sandbox.annotations = {{"splitlet.dev/node", bad}, {"kubernetes.io/config.source", bad}};
  Container container;
  container.id = ContainerId(bad);
  container.sandbox_id = SandboxId(bad);
  container.state = ContainerState::kExited;
  container.name = container.reason = container.message = bad;
  container.image = container.image_ref = container.image_id = container.log_path = bad;
  container.annotations = {{"io.kubernetes.container.hash", bad},
                           {"io.kubernetes.container.terminationMessagePath", bad},
                           {"io.kubernetes.container.terminationMessagePolicy", bad}};
  v1::ObservedPod pod;
  *pod.add_sandboxes() = ToRecord(sandbox);
  *pod.add_containers() = ToRecord(container);
  EXPECT_TRUE(v1::ObservedPod().ParseFromString(pod.SerializeAsString()));
  EXPECT_TRUE(pod.sandboxes(0).id().starts_with("a\uFFFD\uFFFDx")) << "what is good stays";
  EXPECT_LE(pod.containers(0).message().size(), kMaxMessageBytes);
  EXPECT_LE(pod.ByteSizeLong(), 18 * kMaxTextBytes);
  container.labels = {{"io.kubernetes.container.name", bad}};
  EXPECT_TRUE(IsText(ToRecord(container).name()));
}

}  // namespace
}  // namespace splitlet::cri
