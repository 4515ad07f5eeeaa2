// The program as integration tests use it: a process with sockets, steered by lines, that keeps its
// state.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <future>

#include "csi/v1/csi.pb.h"
#include "libs/csi/grpc_driver.h"
#include "libs/csi/requests.h"
#include "tests/fake_cri/control.h"
#include "tests/fake_csi/commands.h"
#include "tests/harness/child.h"

namespace splitlet::fake_csi {
namespace {

class FakeCsi : public ::testing::Test {
 protected:
  FakeCsi() {
    keeper_.Start("fake-csi",
                  {.argv = {FAKE_CSI, "--socket", dir_ / "s", "--control", dir_ / "c", "--name",
                            "d.example.com", "--node-id", "i-1", "--state", dir_ / "state"},
                   .output = dir_ / "log"});
  }
  void SetUp() override { ASSERT_TRUE(IsUp()); }
  bool IsUp() {
    return harness::WaitFor(20s, [this] { return control_.Send("hanging").ok(); });
  }
  template <class Begin>
  Status Ends(Begin begin) {
    std::promise<Status> promise;
    begin([&](const auto& answer) { promise.set_value(answer.status); });
    return promise.get_future().get();
  }
  std::string Send(const std::string& line) {
    const auto answer = control_.Send(line);
    EXPECT_TRUE(answer.ok()) << line << ": " << answer.status();
    return answer.ok() ? *answer : "";
  }
  Deadline Soon() { return After(clock_, 60s); }

  harness::TempDir dir_;
  harness::Keeper keeper_;
  fake_cri::Control control_{dir_ / "c"};
  RealClock clock_;
  csi::GrpcDriver driver_{{.socket_path = dir_ / "s", .clock = clock_}};
  const csi::Volume volume_{.driver = "d.example.com", .handle = "vol-1"};
  const csi::NodeCapabilities capabilities_{csi::NodeCapability::kStageUnstageVolume};
};

TEST_F(FakeCsi, StagesPublishesAndKeepsItsStateWhenKilled) {
  const auto stage = csi::MakeStageRequest(
      {.volume = volume_, .capabilities = capabilities_, .staging_path = dir_ / "g"});
  const Status staged = Ends([&](const auto& done) { driver_.BeginStage(stage, Soon(), done); });
  ASSERT_TRUE(staged.ok()) << staged;
  keeper_.Signal("fake-csi", SIGKILL);
  ASSERT_TRUE(harness::WaitFor(20s, [&] { return keeper_.RestartsOf("fake-csi") == 1; }));
  ASSERT_TRUE(IsUp());

  const auto publish = csi::MakePublishRequest({.volume = volume_,
                                                .capabilities = capabilities_,
                                                .staging_path = dir_ / "g",
                                                .target_path = dir_ / "mount"});
  // The first call on the connection to the killed process may fail.
  ASSERT_TRUE(harness::WaitFor(20s, [&] {
    return Ends([&](const auto& done) { driver_.BeginPublish(publish, Soon(), done); }).ok();
  }));
  EXPECT_EQ(harness::ReadFile(dir_ / "mount/handle"), "vol-1");
  EXPECT_EQ(Send("list"), fmt::format(R"({{"staged":{{"vol-1":"{}"}},"published":{{"{}":"vol-1"}},)"
                                      R"("sizes":{{}},"violations":[]}})",
                                      dir_ / "g", dir_ / "mount"));
  const auto unpublish = csi::MakeUnpublishRequest("vol-1", dir_ / "mount");
  const Status unpublished =
      Ends([&](const auto& done) { driver_.BeginUnpublish(unpublish, Soon(), done); });
  EXPECT_TRUE(unpublished.ok()) << unpublished;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "mount"));
}

TEST_F(FakeCsi, TakesCommands) {
  Send("node i-2 7 example.com/zone=a");
  Send("capabilities STAGE_UNSTAGE_VOLUME EXPAND_VOLUME");
  std::promise<csi::NodeInfo> info;
  driver_.BeginGetInfo(Soon(), [&](const auto& answer) { info.set_value(answer.reply); });
  EXPECT_EQ(info.get_future().get(), (csi::NodeInfo{"i-2", 7, {{"example.com/zone", "a"}}}));
  std::promise<csi::NodeCapabilities> capabilities;
  driver_.BeginGetCapabilities(Soon(),
                               [&](const auto& answer) { capabilities.set_value(answer.reply); });
  using enum csi::NodeCapability;
  EXPECT_EQ(capabilities.get_future().get(),
            (csi::NodeCapabilities{kStageUnstageVolume, kExpandVolume}));

  Send("fault NodeUnstageVolume 1*error INVALID_ARGUMENT no such volume");
  const auto unstage = csi::MakeUnstageRequest("vol-1", "/g");
  const auto end = [&] {
    return Ends([&](const auto& done) { driver_.BeginUnstage(unstage, Soon(), done); });
  };
  EXPECT_EQ(end(), InvalidArgument("no such volume"));
  EXPECT_TRUE(end().ok());
  EXPECT_EQ(Send("calls NodeUnstageVolume"), "2");
  EXPECT_THAT(Send("requests NodeUnstageVolume"), testing::HasSubstr("staging_target_path"));
  Send("stats 10 4");
  Send("faults off");
  for (const char* wrong : {"", "dance", "node", "capabilities FLY", "fault X", "fault X dance",
                            "fault X error NO_CODE", "stats 1"})
    EXPECT_EQ(control_.Send(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
}

}  // namespace
}  // namespace splitlet::fake_csi
