#include "libs/csi/grpc_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "csi/v1/csi.pb.h"
#include "libs/base/cancel.h"
#include "libs/base/fail_point.h"
#include "libs/csi/fake_driver.h"
#include "libs/csi/fake_driver_server.h"
#include "libs/csi/requests.h"
#include "tests/harness/child.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::csi {
namespace {

using enum NodeCapability;

/// A fake driver behind its socket, and the client under test.
class CsiDriver : public ::testing::Test {
 protected:
  CsiDriver() { StartServer(); }

  void StartServer() {
    auto started = FakeDriverServer::Start(fake_, Socket());
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  std::string Socket() const { return dir_ / "csi.sock"; }
  GrpcDriver::Deps DepsOf(size_t max_calls = 64) {
    return {.socket_path = Socket(), .clock = clock_, .max_calls = max_calls};
  }
  Deadline Soon() { return After(clock_, 60s); }

  /// Begins a call by `begin` and waits for its answer.
  template <class Reply, class Begin>
  Answer<Reply> Wait(Begin begin) {
    auto promise = std::make_shared<std::promise<Answer<Reply>>>();
    auto answer = promise->get_future();
    begin([promise](Answer<Reply> a) { promise->set_value(std::move(a)); });
    return answer.get();
  }
  Answer<Nothing> Stage(GrpcDriver& driver, const v1::NodeStageVolumeRequest& request) {
    return Wait<Nothing>([&](auto done) { driver.BeginStage(request, Soon(), done); });
  }
  Answer<Nothing> Unstage(GrpcDriver& driver) {
    return Wait<Nothing>(
        [&](auto done) { driver.BeginUnstage(MakeUnstageRequest("vol-1", "/g"), Soon(), done); });
  }
  v1::NodeStageVolumeRequest StageRequest() const {
    return MakeStageRequest({.volume = volume_,
                             .capabilities = capabilities_,
                             .staging_path = "/g",
                             .secrets = {{"password", "hunter22"}}});
  }

  const NodeCapabilities capabilities_{kStageUnstageVolume, kGetVolumeStats, kExpandVolume};
  const Volume volume_{.driver = "d.example.com", .handle = "vol-1"};
  harness::TempDir dir_;
  RealClock clock_;
  FakeDriver fake_{{.node = {"i-1", 5, {{"example.com/zone", "a"}}},
                    .capabilities = capabilities_,
                    .stats = {.bytes = VolumeUsage{6, 10, 4}}}};
  std::unique_ptr<FakeDriverServer> server_;
};

TEST_F(CsiDriver, TakesEveryCall) {
  GrpcDriver driver(DepsOf());
  const auto info = Wait<NodeInfo>([&](auto done) { driver.BeginGetInfo(Soon(), done); });
  ASSERT_TRUE(info.status.ok()) << info.status;
  EXPECT_EQ(info.reply, fake_.Traits().node);
  const auto capabilities =
      Wait<NodeCapabilities>([&](auto done) { driver.BeginGetCapabilities(Soon(), done); });
  ASSERT_TRUE(capabilities.status.ok()) << capabilities.status;
  EXPECT_EQ(capabilities.reply, capabilities_);
  const auto staged = Stage(driver, StageRequest());
  ASSERT_TRUE(staged.status.ok()) << staged.status;
  EXPECT_EQ(fake_.Staged().at("vol-1"), "/g");

  const auto published = Wait<Nothing>([&](auto done) {
    driver.BeginPublish(MakePublishRequest({.volume = volume_,
                                            .capabilities = capabilities_,
                                            .staging_path = "/g",
                                            .target_path = "/t"}),
                        Soon(), done);
  });
  ASSERT_TRUE(published.status.ok()) << published.status;
  EXPECT_EQ(fake_.Published().at("/t"), "vol-1");
  const auto stats = Wait<VolumeStats>(
      [&](auto done) { driver.BeginGetStats(MakeStatsRequest("vol-1", "/t"), Soon(), done); });
  ASSERT_TRUE(stats.status.ok()) << stats.status;
  EXPECT_EQ(stats.reply.bytes, (VolumeUsage{6, 10, 4}));
  const auto expanded = Wait<int64_t>([&](auto done) {
    driver.BeginExpand(MakeExpandRequest({.volume = volume_,
                                          .capabilities = capabilities_,
                                          .volume_path = "/t",
                                          .required_bytes = 4096}),
                       Soon(), done);
  });
  ASSERT_TRUE(expanded.status.ok()) << expanded.status;
  EXPECT_EQ(expanded.reply, 4096);
  EXPECT_EQ(fake_.Sizes().at("vol-1"), 4096);

  const auto unpublished = Wait<Nothing>(
      [&](auto done) { driver.BeginUnpublish(MakeUnpublishRequest("vol-1", "/t"), Soon(), done); });
  EXPECT_TRUE(unpublished.status.ok()) << unpublished.status;
  const auto unstaged = Unstage(driver);
  EXPECT_TRUE(unstaged.status.ok()) << unstaged.status;
  EXPECT_TRUE(fake_.Staged().empty());
  EXPECT_TRUE(fake_.Published().empty());
  EXPECT_THAT(fake_.Violations(), testing::IsEmpty());
}

TEST_F(CsiDriver, AnErrorHasItsClassAndNoSecret) {
  GrpcDriver driver(DepsOf());
  const struct {
    Status error;
    ErrorClass want;
  } kCases[] = {
      {InvalidArgument("mount -o pass=hunter22: bad"), ErrorClass::kFinal},
      {Aborted("hunter22"), ErrorClass::kUncertain},
      {Unimplemented("no"), ErrorClass::kFinal},
  };
  for (const auto& c : kCases) {
    fake_.AddFault({.method = "NodeStageVolume", .error = c.error, .times = 1});
    const auto answer = Stage(driver, StageRequest());
    EXPECT_EQ(answer.status.code(), c.error.code());
    EXPECT_EQ(answer.error_class, c.want);
    EXPECT_THAT(Message(answer.status), testing::Not(testing::HasSubstr("hunter22")));
  }
  fake_.AddFault({.method = "NodeStageVolume", .error = InvalidArgument("bad type"), .times = 1});
  EXPECT_EQ(Message(Stage(driver, StageRequest()).status), "bad type");
}

TEST_F(CsiDriver, AnAnswerThatCannotBeUsedIsFinal) {
  fake_.SetTraits({.node = {}});
  GrpcDriver driver(DepsOf());
  const auto info = Wait<NodeInfo>([&](auto done) { driver.BeginGetInfo(Soon(), done); });
  EXPECT_EQ(info.status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(info.error_class, ErrorClass::kFinal);
  const auto stats = Wait<VolumeStats>(
      [&](auto done) { driver.BeginGetStats(MakeStatsRequest("vol-1", "/t"), Soon(), done); });
  EXPECT_EQ(stats.status.code(), StatusCode::kInternal);
}

TEST_F(CsiDriver, WithoutAListenerNothingIsSent) {
  GrpcDriver driver(DepsOf());
  server_.reset();
  const auto away = Unstage(driver);
  EXPECT_EQ(away.status.code(), StatusCode::kUnavailable) << away.status;
  EXPECT_EQ(away.error_class, ErrorClass::kTransient);
  harness::ListeningSocket dead(Socket());
  dead.Close();
  const auto stale = Unstage(driver);
  EXPECT_EQ(stale.status.code(), StatusCode::kUnavailable) << stale.status;
  EXPECT_EQ(stale.error_class, ErrorClass::kTransient);
  EXPECT_EQ(fake_.Calls("NodeUnstageVolume"), 0u);
}

TEST_F(CsiDriver, ASocketOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(lchown(Socket().c_str(), 12345, 12345), 0);
  GrpcDriver driver(DepsOf());
  const auto answer = Unstage(driver);
  EXPECT_EQ(answer.status.code(), StatusCode::kPermissionDenied) << answer.status;
  EXPECT_EQ(answer.error_class, ErrorClass::kTransient);
}

TEST_F(CsiDriver, ALaterStartOfTheDriverIsFound) {
  GrpcDriver driver(DepsOf());
  EXPECT_TRUE(Stage(driver, StageRequest()).status.ok());
  server_.reset();
  EXPECT_FALSE(Unstage(driver).status.ok());
  StartServer();
  const auto answer = Unstage(driver);
  EXPECT_TRUE(answer.status.ok()) << answer.status;
}

TEST_F(CsiDriver, AHangingCallEndsAtItsDeadlineAndIsUncertain) {
  fake_.AddFault({.kind = FakeFault::Kind::kHang});
  GrpcDriver driver(DepsOf());
  const auto by_caller = Wait<Nothing>([&](auto done) {
    driver.BeginUnstage(MakeUnstageRequest("vol-1", "/g"), After(clock_, 100ms), done);
  });
  EXPECT_EQ(by_caller.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(by_caller.error_class, ErrorClass::kUncertain);

  GrpcDriver::Deps deps = DepsOf();
  deps.call_limit = 100ms;
  GrpcDriver limited(deps);
  EXPECT_EQ(Unstage(limited).status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(CsiDriver, ACallCanBeCancelled) {
  fake_.AddFault({.kind = FakeFault::Kind::kHang});
  GrpcDriver driver(DepsOf());
  Deadline deadline = Soon();
  deadline.cancel = std::make_shared<CancelToken>();
  std::promise<Answer<Nothing>> promise;
  driver.BeginUnstage(MakeUnstageRequest("vol-1", "/g"), deadline,
                      [&](Answer<Nothing> answer) { promise.set_value(std::move(answer)); });
  ASSERT_TRUE(harness::WaitFor(20s, [&] { return fake_.Hanging() == 1; }));
  deadline.cancel->Cancel();
  const auto answer = promise.get_future().get();
  EXPECT_EQ(answer.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(answer.error_class, ErrorClass::kUncertain);
}

TEST_F(CsiDriver, ItsEndAnswersEveryCall) {
  fake_.AddFault({.kind = FakeFault::Kind::kHang});
  std::mutex mutex;
  std::vector<Answer<Nothing>> answers;
  {
    GrpcDriver driver(DepsOf());
    const auto note = [&](Answer<Nothing> answer) {
      const std::lock_guard lock(mutex);
      answers.push_back(std::move(answer));
    };
    for (int i = 0; i < 5; ++i)
      driver.BeginUnstage(MakeUnstageRequest("vol-1", "/g"), Soon(), note);
    ASSERT_TRUE(harness::WaitFor(20s, [&] { return fake_.Hanging() == 5; }));
  }
  ASSERT_EQ(answers.size(), 5u);
  for (const auto& answer : answers) EXPECT_EQ(answer.status.code(), StatusCode::kCancelled);
}

TEST_F(CsiDriver, AfterGiveUpNothingIsSent) {
  GrpcDriver driver(DepsOf());
  driver.GiveUp();
  const auto answer = Unstage(driver);
  EXPECT_EQ(answer.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(answer.error_class, ErrorClass::kTransient);
  EXPECT_EQ(fake_.Calls("NodeUnstageVolume"), 0u);
}

TEST_F(CsiDriver, OneCallTooManyIsRefusedAndOthersGoOn) {
  fake_.AddFault({.kind = FakeFault::Kind::kHang});
  GrpcDriver driver(DepsOf(2));
  std::promise<void> ended[2];
  for (auto& end : ended)
    driver.BeginUnstage(MakeUnstageRequest("vol-1", "/g"), Soon(), [&end](Answer<Nothing> answer) {
      EXPECT_TRUE(answer.status.ok()) << answer.status;
      end.set_value();
    });
  const auto refused = Unstage(driver);
  EXPECT_EQ(refused.status.code(), StatusCode::kResourceExhausted) << refused.status;
  EXPECT_EQ(refused.error_class, ErrorClass::kTransient);
  ASSERT_TRUE(harness::WaitFor(20s, [&] { return fake_.Hanging() == 2; }));
  fake_.ClearFaults();
  for (auto& end : ended) end.get_future().get();
}

TEST_F(CsiDriver, ADriverThatDiesInACallLeavesItUncertain) {
  fake_.AddFault({.kind = FakeFault::Kind::kHang});
  GrpcDriver driver(DepsOf());
  std::promise<Answer<Nothing>> promise;
  driver.BeginUnstage(MakeUnstageRequest("vol-1", "/g"), Soon(),
                      [&](Answer<Nothing> answer) { promise.set_value(std::move(answer)); });
  ASSERT_TRUE(harness::WaitFor(20s, [&] { return fake_.Hanging() == 1; }));
  server_->Stop();
  const auto answer = promise.get_future().get();
  EXPECT_FALSE(answer.status.ok());
  EXPECT_EQ(answer.error_class, ErrorClass::kUncertain) << answer.status;
}

TEST_F(CsiDriver, MessagesAreBounded) {
  GrpcDriver driver(DepsOf());
  auto request = StageRequest();
  (*request.mutable_volume_context())["large"] = std::string(5 << 20, 'x');
  const auto refused = Stage(driver, request);
  EXPECT_EQ(refused.status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.error_class, ErrorClass::kTransient);
  fake_.SetTraits({.node = {.node_id = std::string(5 << 20, 'x')}});
  const auto info = Wait<NodeInfo>([&](auto done) { driver.BeginGetInfo(Soon(), done); });
  EXPECT_EQ(info.status.code(), StatusCode::kResourceExhausted) << info.status;
}

TEST_F(CsiDriver, EachEndIsReported) {
  std::mutex mutex;
  std::vector<std::pair<std::string, StatusCode>> ends;
  GrpcDriver::Deps deps = DepsOf();
  deps.on_end = [&](const CallEnd& end) {
    EXPECT_GE(end.took, Duration{0});
    const std::lock_guard lock(mutex);
    ends.emplace_back(end.method, end.code);
  };
  {
    GrpcDriver driver(deps);
    EXPECT_TRUE(Stage(driver, StageRequest()).status.ok());
    fake_.AddFault({.error = Internal("broken")});
    EXPECT_FALSE(Unstage(driver).status.ok());
    server_.reset();
    EXPECT_FALSE(Unstage(driver).status.ok());
  }
  using Ends = std::vector<std::pair<std::string, StatusCode>>;
  EXPECT_EQ(ends, (Ends{{"/csi.v1.Node/NodeStageVolume", StatusCode::kOk},
                        {"/csi.v1.Node/NodeUnstageVolume", StatusCode::kInternal}}));
}

TEST_F(CsiDriver, FailPointsStandBeforeAndAfterTheCall) {
  GrpcDriver driver(DepsOf());
  auto& points = FailPoints::Current();
  ASSERT_TRUE(points.Set("csi.node-stage-volume.before", "return(aborted)").ok());
  const auto before = Stage(driver, StageRequest());
  EXPECT_EQ(before.status.code(), StatusCode::kAborted);
  EXPECT_EQ(before.error_class, ErrorClass::kTransient);
  EXPECT_TRUE(fake_.Staged().empty());
  points.Clear("");
  ASSERT_TRUE(points.Set("csi.node-stage-volume.after", "return(aborted)").ok());
  const auto after = Stage(driver, StageRequest());
  EXPECT_EQ(after.error_class, ErrorClass::kUncertain);
  EXPECT_EQ(fake_.Staged().size(), 1u);
  points.Clear("");
}

TEST_F(CsiDriver, ManyCallsFromManyThreadsAreEachAnsweredOnce) {
  constexpr int kThreads = 4, kEach = 10;
  GrpcDriver driver(DepsOf());
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < kThreads; ++t)
      callers.emplace_back([&] {
        for (int i = 0; i < kEach; ++i)
          driver.BeginStage(StageRequest(), Soon(), [&](Answer<Nothing> answer) {
            EXPECT_TRUE(answer.status.ok()) << answer.status;
            ++answered;
          });
      });
  }
  ASSERT_TRUE(harness::WaitFor(60s, [&] { return answered == kThreads * kEach; }));
  EXPECT_EQ(fake_.Calls("NodeStageVolume"), static_cast<size_t>(kThreads * kEach));
}

TEST_F(CsiDriver, AFaultMayLoseTheAnswerOfACallThatHadItsEffect) {
  fake_.AddFault({.method = "NodeStageVolume",
                  .kind = FakeFault::Kind::kLose,
                  .error = Unavailable("lost"),
                  .times = 1});
  GrpcDriver driver(DepsOf());
  EXPECT_EQ(Stage(driver, StageRequest()).error_class, ErrorClass::kUncertain);
  EXPECT_EQ(fake_.Staged().size(), 1u);
  ASSERT_EQ(fake_.Requests<v1::NodeStageVolumeRequest>().size(), 1u);
  EXPECT_THAT(fake_.RequestTexts("NodeStageVolume").front(),
              testing::Not(testing::HasSubstr("hunter22")));
  EXPECT_TRUE(Stage(driver, StageRequest()).status.ok());
}

TEST(CsiFakeDriver, ReportsCallsThatNoAgentMayMake) {
  FakeDriver fake({.capabilities = {kStageUnstageVolume}});
  const auto never = [] { return false; };
  const Volume volume{.driver = "d", .handle = "vol-1"};
  const NodeCapabilities stages{kStageUnstageVolume};
  const auto publish = MakePublishRequest(
      {.volume = volume, .capabilities = stages, .staging_path = "/g", .target_path = "/t"});
  EXPECT_FALSE(fake.Call("NodePublishVolume", publish, never).ok());
  const auto stage =
      MakeStageRequest({.volume = volume, .capabilities = stages, .staging_path = "/g"});
  EXPECT_TRUE(fake.Call("NodeStageVolume", stage, never).ok());
  EXPECT_TRUE(fake.Call("NodePublishVolume", publish, never).ok());
  EXPECT_TRUE(fake.Call("NodeUnstageVolume", MakeUnstageRequest("vol-1", "/g"), never).ok());
  EXPECT_FALSE(fake.Call("NodeUnpublishVolume", MakeUnpublishRequest("", "/t"), never).ok());
  EXPECT_THAT(fake.Violations(), testing::ElementsAre("vol-1 is published before it is staged",
                                                      "vol-1 is unstaged while it is published",
                                                      "unpublished without handle or path"));
}

}  // namespace
}  // namespace splitlet::csi
