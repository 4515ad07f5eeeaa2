// Tests the program as integration tests use it: a process with sockets, controlled by lines, that
// keeps its state.

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "libs/cri/cgroup_driver.h"
#include "libs/cri/checkpoint.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/grpc_streaming.h"
#include "libs/cri/network_config.h"
#include "libs/cri/test_pod.h"
#include "libs/rpc/rpc.h"
#include "tests/fake_cri/commands.h"
#include "tests/fake_cri/control.h"

namespace splitlet::fake_cri {
namespace {

class FakeCriTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / fmt::format("fake-cri-program-{}", getpid());
    std::filesystem::create_directory(directory_);
    Launch();
  }
  void TearDown() override {
    Kill();
    std::filesystem::remove_all(directory_);
  }
  void Launch() {
    const std::string socket = directory_ / "s", control = directory_ / "c",
                      state = directory_ / "state";
    const char* argv[] = {FAKE_CRI,        "--socket", socket.c_str(), "--control",
                          control.c_str(), "--state",  state.c_str(),  nullptr};
    ASSERT_EQ(posix_spawn(&pid_, FAKE_CRI, nullptr, nullptr, const_cast<char**>(argv), environ), 0);
    const Deadline deadline = After(clock_, 20s);
    while (!control_.List().ok()) {
      ASSERT_GT(Remaining(clock_, deadline), 0s);
      std::this_thread::yield();
    }
  }
  void Kill() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Deadline Soon() { return After(clock_, 20s); }
  /// A call on the connection to the killed process may still fail.
  cri::Container Look(const cri::ContainerId& id) {
    auto seen = runtime_.ContainerStatus(id, Soon());
    for (int tries = 0; tries < 10 && !seen.ok(); ++tries)
      seen = runtime_.ContainerStatus(id, Soon());
    EXPECT_TRUE(seen.ok()) << seen.status();
    return seen.ok() ? *seen : cri::Container();
  }

  RealClock clock_;
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / fmt::format("fake-cri-program-{}", getpid());
  pid_t pid_ = 0;
  Control control_{directory_ / "c"};
  prometheus::Registry registry_;
  cri::GrpcRuntime runtime_{
      rpc::ConnectEndpoint("unix://" + (directory_ / "s").string()), clock_, registry_, {}};
  cri::TestPod pod_{"web-node", "uid-1"};
};

TEST_F(FakeCriTest, KeepsItsStateWhenKilledAndDoesAsTold) {
  ASSERT_TRUE(runtime_.PullImage("busybox", nullptr, pod_.Config(), Soon()).ok());
  const auto sandbox = runtime_.RunPodSandbox(pod_.Config(), "", Soon());
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  const auto id =
      runtime_.CreateContainer(*sandbox, pod_.ContainerConfig("app", 0), pod_.Config(), Soon());
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(runtime_.StartContainer(*id, Soon()).ok());
  Kill();
  Launch();
  EXPECT_EQ(Look(*id).state, cri::ContainerState::kRunning);

  ASSERT_TRUE(control_.Fault("ContainerStatus", "web", "1*error INTERNAL").ok());
  EXPECT_EQ(runtime_.ContainerStatus(*id, Soon()).status().code(), StatusCode::kInternal);
  ASSERT_TRUE(control_.ExitContainer("web", "app", 7).ok());
  EXPECT_EQ(Look(*id).exit_code, 7);
  EXPECT_EQ(control_.ExitContainer("web", "app", 7).code(), StatusCode::kNotFound);
  ASSERT_TRUE(control_.AddUnmanagedPod("other", "uid-9").ok());
  const auto unmanaged = runtime_.ListPodSandbox("uid-9", Soon());
  ASSERT_TRUE(unmanaged.ok()) << unmanaged.status();
  EXPECT_EQ(unmanaged->size(), 1u);
  ASSERT_TRUE(control_.StopEverything().ok());
  const auto broken = runtime_.PodSandboxStatus(*sandbox, Soon());
  ASSERT_TRUE(broken.ok()) << broken.status();
  EXPECT_EQ(broken->state, cri::SandboxState::kNotReady);
  const auto list = control_.List();
  ASSERT_TRUE(list.ok());
  EXPECT_NE(list->find("\"pod\":\"web-node\""), std::string::npos);
  EXPECT_EQ(control_.Send("dance").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(FakeCriTest, SaysItsDriverOfCgroups) {
  const auto driver = cri::AskCgroupDriver(
      rpc::ConnectEndpoint("unix://" + (directory_ / "s").string()), clock_, Soon());
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ(*driver, "cgroupfs");
}

TEST_F(FakeCriTest, MakesCheckpointsOfWhatRunsUnlessToldNotTo) {
  const auto checkpointer = cri::MakeGrpcCheckpointer(
      rpc::ConnectEndpoint("unix://" + (directory_ / "s").string()), clock_);
  ASSERT_TRUE(runtime_.PullImage("busybox", nullptr, pod_.Config(), Soon()).ok());
  const auto sandbox = runtime_.RunPodSandbox(pod_.Config(), "", Soon());
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  const auto id =
      runtime_.CreateContainer(*sandbox, pod_.ContainerConfig("app", 0), pod_.Config(), Soon());
  ASSERT_TRUE(id.ok()) << id.status();
  const std::string archive = (directory_ / "a.tar").string();
  const auto make = [&] {
    return checkpointer->CheckpointContainer(*id, archive, 5s, Soon()).code();
  };
  EXPECT_EQ(make(), StatusCode::kFailedPrecondition) << "it does not run";
  ASSERT_TRUE(runtime_.StartContainer(*id, Soon()).ok());
  ASSERT_TRUE(control_.Send("checkpoints off").ok());
  EXPECT_EQ(make(), StatusCode::kUnimplemented);
  EXPECT_FALSE(std::filesystem::exists(archive));
  ASSERT_TRUE(control_.Send("checkpoints on").ok());
  EXPECT_EQ(make(), StatusCode::kOk);
  EXPECT_TRUE(std::filesystem::exists(archive));
}

TEST_F(FakeCriTest, KeepsWhatItIsToldOfTheNetworkUntilItEnds) {
  const auto network = cri::MakeGrpcNetworkConfig(
      rpc::ConnectEndpoint("unix://" + (directory_ / "s").string()), clock_, registry_);
  const auto told = [this] { return control_.Send("pod-cidrs").value_or("nobody answers"); };
  ASSERT_TRUE(network->UpdatePodCidr("10.1.0.0/24", Soon()).ok());
  EXPECT_TRUE(network->Connected());
  EXPECT_EQ(told(), "10.1.0.0/24");
  ASSERT_TRUE(control_.Send("pod-cidrs error UNKNOWN").ok());
  EXPECT_EQ(network->UpdatePodCidr("10.2.0.0/24", Soon()).code(), StatusCode::kUnknown);
  EXPECT_TRUE(network->Connected()) << "it has only refused";
  ASSERT_TRUE(control_.Send("pod-cidrs ok").ok());
  ASSERT_TRUE(network->UpdatePodCidr("10.2.0.0/24,fd00::/64", Soon()).ok());
  EXPECT_EQ(told(), "10.1.0.0/24 refused:10.2.0.0/24 10.2.0.0/24,fd00::/64");
  Kill();
  const Deadline deadline = Soon();
  while (network->Connected()) {
    ASSERT_GT(Remaining(clock_, deadline), 0s) << "the end of the connection is not noticed";
    std::this_thread::yield();
  }
  Launch();
  EXPECT_EQ(told(), "") << "it was in memory alone";
  EXPECT_TRUE(network->UpdatePodCidr("10.2.0.0/24", Soon()).ok());
  EXPECT_TRUE(network->Connected());
}

TEST_F(FakeCriTest, SaysWhereStreamsGo) {
  ASSERT_TRUE(control_.Send("unmanaged web uid-1 app").ok());
  const auto channel = rpc::ConnectEndpoint("unix://" + (directory_ / "s").string());
  const auto streaming = cri::MakeGrpcStreaming(channel, clock_);
  const auto containers = runtime_.ListContainers({.pod_uid = "uid-1"}, Soon());
  ASSERT_TRUE(containers.ok() && containers->size() == 1) << containers.status();
  const cri::ContainerId id = containers->front().id;
  const cri::StreamChannels out{.out = true};
  EXPECT_EQ(streaming->OpenExec(id, {"sh"}, out, Soon()).status().code(),
            StatusCode::kUnimplemented);
  ASSERT_TRUE(control_.Send("streaming http://127.0.0.1:1").ok());
  const auto exec = streaming->OpenExec(id, {"sh"}, out, Soon());
  const auto attach = streaming->OpenAttach(id, out, Soon());
  ASSERT_TRUE(exec.ok() && attach.ok()) << exec.status() << attach.status();
  EXPECT_EQ(*exec, "http://127.0.0.1:1/exec/1");
  EXPECT_EQ(*attach, "http://127.0.0.1:1/attach/2");
  EXPECT_EQ(streaming->OpenExec(cri::ContainerId("none"), {"sh"}, out, Soon()).status().code(),
            StatusCode::kNotFound);
  ASSERT_TRUE(control_.Send("streaming off").ok());
  EXPECT_EQ(streaming->OpenAttach(id, out, Soon()).status().code(), StatusCode::kUnimplemented);
}

TEST(CommandsTest, LinesSayWhatContainersDo) {
  FakeClock clock;
  cri::FakeRuntime runtime(clock);
  Commands commands(runtime);
  const auto soon = [&] { return After(clock, 60s); };
  ASSERT_TRUE(commands.Run("behave web app exit_after=2s exit_code=3 | term_after=never").ok());
  ASSERT_TRUE(commands.Run("pull broken error PERMISSION_DENIED").ok());
  EXPECT_EQ(commands.lasting().size(), 2u);
  const cri::TestPod pod{"web-node", "uid-1"};
  runtime.AddImage("busybox");
  const auto sandbox = *runtime.RunPodSandbox(pod.Config(), "", soon());
  const auto id =
      *runtime.CreateContainer(sandbox, pod.ContainerConfig("app", 0), pod.Config(), soon());
  ASSERT_TRUE(runtime.StartContainer(id, soon()).ok());
  clock.Advance(2s);
  EXPECT_EQ(runtime.ContainerStatus(id, soon())->exit_code, 3);
  EXPECT_EQ(runtime.PullImage("broken", nullptr, pod.Config(), soon()).status().code(),
            StatusCode::kPermissionDenied);
  for (const char* line : {"", "behave web app nonsense", "behave web app exit_after=soon",
                           "fault Version * explode", "pull x maybe", "exit web", "streaming"}) {
    EXPECT_EQ(commands.Run(line).status().code(), StatusCode::kInvalidArgument) << line;
  }
}

TEST(CommandsTest, DurationsHaveUnits) {
  EXPECT_EQ(*ParseDuration("250ms"), 250ms);
  EXPECT_EQ(*ParseDuration("2s"), 2s);
  EXPECT_EQ(*ParseDuration("1m"), 1min);
  for (const char* bad : {"", "s", "2", "2h", "-1s"}) EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
}

}  // namespace
}  // namespace splitlet::fake_cri
