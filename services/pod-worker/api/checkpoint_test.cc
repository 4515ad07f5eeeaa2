#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "services/pod-worker/api/checkpoint_calls.h"

namespace splitlet::pod_worker {
namespace {

using ::testing::ElementsAre;

constexpr const char* kArchive =
    "/kubelet/checkpoints/checkpoint-web_default-app-2026-01-01T00:00:00Z.tar";

class FakeCheckpointer final : public cri::Checkpointer {
 public:
  Status CheckpointContainer(const cri::ContainerId& id, const std::string& location,
                             std::chrono::seconds timeout, Deadline) override {
    calls.push_back(fmt::format("{} {} {}", id, location, timeout.count()));
    return answer;
  }
  Status answer;
  std::vector<std::string> calls;
};

/// The clock of the machine is in this zone.
class Zone {
 public:
  explicit Zone(const char* name) { Set(name); }
  ~Zone() { Set("UTC"); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  static void Set(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
};

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime.AddImage("busybox");
    sandbox = Must(runtime.RunPodSandbox(pod.Config(), "", Soon()));
    container =
        Must(runtime.CreateContainer(sandbox, pod.ContainerConfig("app", 0), pod.Config(), Soon()));
    ASSERT_TRUE(runtime.StartContainer(container, Soon()).ok());
    ASSERT_TRUE(files.MakeDirs("/kubelet", 0755).ok());
  }
  template <class T>
  static T Must(StatusOr<T> value) {
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : T();
  }
  Deadline Soon() const { return After(clock, 5s); }
  v1::CheckpointRequest Request(const std::string& id = "1", int64_t timeout = 0) const {
    v1::CheckpointRequest request;
    request.set_request_id(id);
    request.set_uid(pod.uid);
    request.set_container_id(container.str());
    request.set_timeout_seconds(timeout);
    return request;
  }
  /// What is said to it is in `answers`, by the name of the request.
  void Ask(const v1::CheckpointRequest& request) {
    loop.Post([this, request] {
      calls.OnRequest(request, [this, id = request.request_id()](const auto& reply) {
        answers.push_back(id + ": " + Shown(reply));
      });
    });
  }
  static std::string Shown(const StatusOr<v1::CheckpointReply>& reply) {
    if (!reply.ok()) return ToString(reply.status());
    return reply->done() ? reply->location() : "not yet";
  }

  const Zone zone{"UTC"};
  FakeClock clock;
  exec::FakeLoop loop{clock};
  exec::FakeStrands strands{loop};
  cri::FakeRuntime runtime{clock};
  fs::FakeFileSystem files{clock};
  FakeCheckpointer checkpointer;
  const cri::TestPod pod{.name = "web", .uid = "uid-1"};
  cri::SandboxId sandbox;
  cri::ContainerId container;
  CheckpointCalls calls{{.loop = loop,
                         .strands = strands,
                         .maker = CheckpointMaker({.clock = clock,
                                                   .reader = runtime,
                                                   .checkpointer = checkpointer,
                                                   .files = files,
                                                   .folder = "/kubelet/checkpoints",
                                                   .least_timeout = std::chrono::seconds{120},
                                                   .ending = nullptr}),
                         .has_pod = [this](const std::string& uid) { return uid == pod.uid; }}};
  std::vector<std::string> answers;
};

TEST_F(CheckpointTest, TheRuntimeWritesItBelowTheKubeletsDirectory) {
  Ask(Request());
  loop.RunUntilIdle();
  EXPECT_THAT(answers, ElementsAre(std::string("1: ") + kArchive));
  EXPECT_THAT(checkpointer.calls, ElementsAre(fmt::format("{} {} 120", container, kArchive)));
  EXPECT_TRUE(files.Stat("/kubelet/checkpoints", false).ok());
}

TEST_F(CheckpointTest, TheRuntimeGetsAtLeastItsUsualTime) {
  const CheckpointMaker maker({.clock = clock,
                               .reader = runtime,
                               .checkpointer = checkpointer,
                               .files = files,
                               .folder = "/f",
                               .least_timeout = std::chrono::seconds{120},
                               .ending = nullptr});
  const struct {
    const char* name;
    int64_t asked, want;
  } kCases[] = {
      {"none asked for", 0, 120},
      {"a shorter one", 5, 120},
      {"a longer one", 300, 300},
      {"one without end", INT64_MAX, 4 * 3600},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(maker.TimeoutOf(Request("1", c.asked)).count(), c.want);
  }
}

TEST_F(CheckpointTest, WhatTheRuntimeSaysComesBackUnchanged) {
  checkpointer.answer = MakeStatus(StatusCode::kUnimplemented, "unknown method");
  Ask(Request());
  loop.RunUntilIdle();
  EXPECT_THAT(answers, ElementsAre("1: unknown method (UNIMPLEMENTED)"));
}

TEST_F(CheckpointTest, OneRequestIsCarriedOutOnce) {
  Ask(Request("1"));
  Ask(Request("1"));
  loop.RunUntilIdle();
  Ask(Request("1"));
  loop.RunUntilIdle();
  EXPECT_EQ(answers.size(), 3U);
  EXPECT_EQ(checkpointer.calls.size(), 1U);
}

TEST_F(CheckpointTest, WhatIsRefused) {
  v1::CheckpointRequest no_id = Request("");
  v1::CheckpointRequest other_pod = Request("1");
  other_pod.set_uid("uid-2");
  v1::CheckpointRequest other_container = Request("2");
  other_container.set_container_id("no");
  for (const auto& request : {no_id, other_pod, Request("3", -1), other_container}) Ask(request);
  loop.RunUntilIdle();
  EXPECT_THAT(answers, ElementsAre(": request id, pod and container are needed (INVALID_ARGUMENT)",
                                   "1: there is no pod uid-2 on this node (NOT_FOUND)",
                                   "3: a timeout of -1 s (INVALID_ARGUMENT)",
                                   "2: container no is none of this pod (NOT_FOUND)"));
  ASSERT_TRUE(runtime.StopContainer(container, 0, Soon()).ok());
  Ask(Request("4"));
  loop.RunUntilIdle();
  EXPECT_EQ(answers.back(), "4: container app does not run (FAILED_PRECONDITION)");
  EXPECT_TRUE(checkpointer.calls.empty());
}

TEST_F(CheckpointTest, NamesOfFilesHaveTheZoneOfTheMachine) {
  const cri::Container found = Must(runtime.ContainerStatus(container, Soon()));
  const struct {
    const char* name;
    const char* zone;
    const char* want;
  } kCases[] = {
      {"west", "XXX+3:30", "checkpoint-web_default-app-2025-12-31T20:30:00-03:30.tar"},
      {"east", "YYY-1", "checkpoint-web_default-app-2026-01-01T01:00:00+01:00.tar"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Zone there(c.zone);
    EXPECT_EQ(CheckpointFileName(found, clock.WallNow()).value_or(""), c.want);
  }
  cri::Container path = found;
  path.name = "../app";
  EXPECT_EQ(CheckpointFileName(path, clock.WallNow()).status().code(),
            StatusCode::kInvalidArgument);
}

/// What runs on strands has its turn when it is told.
class SlowStrands final : public exec::Strands {
 public:
  void Run(const std::string&, exec::Task task) override { tasks.push_back(std::move(task)); }
  size_t Pending(const std::string&) const override { return tasks.size(); }
  std::vector<exec::Task> tasks;
};

TEST_F(CheckpointTest, WhoHasWaitedLongEnoughAsksAgain) {
  SlowStrands slow;
  CheckpointCalls waiting{{.loop = loop,
                           .strands = slow,
                           .maker = CheckpointMaker({.clock = clock,
                                                     .reader = runtime,
                                                     .checkpointer = checkpointer,
                                                     .files = files,
                                                     .folder = "/kubelet/checkpoints",
                                                     .least_timeout = std::chrono::seconds{120},
                                                     .ending = nullptr}),
                           .has_pod = [](const std::string&) { return true; }}};
  const auto ask = [&](const std::string& id) {
    loop.Post([this, &waiting, id] {
      waiting.OnRequest(Request(id), [this, id](const auto& reply) {
        answers.push_back(id + ": " + Shown(reply));
      });
    });
    loop.RunUntilIdle();
  };
  ask("1");
  ask("2");
  ask("3");
  EXPECT_THAT(answers, ElementsAre("3: too many checkpoints are made (RESOURCE_EXHAUSTED)"));
  loop.Advance(kCheckpointWait);
  EXPECT_THAT(answers, ElementsAre(::testing::_, "1: not yet", "2: not yet"));
  ask("1");
  ASSERT_EQ(slow.tasks.size(), 2U);
  slow.tasks[0]();
  loop.RunUntilIdle();
  EXPECT_EQ(answers.back(),
            "1: /kubelet/checkpoints/checkpoint-web_default-app-2026-01-01T00:00:45Z.tar");
  loop.Advance(kCheckpointKept);
  ask("1");
  EXPECT_EQ(slow.tasks.size(), 3U) << "nobody remembers it any more";
}

}  // namespace
}  // namespace splitlet::pod_worker
