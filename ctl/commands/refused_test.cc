#include <gmock/gmock.h>
#include <unistd.h>

#include <sstream>

#include "ctl/commands/admin.h"
#include "ctl/commands/doctor.h"
#include "ctl/commands/find_pods.h"
#include "ctl/commands/get.h"
#include "ctl/commands/run_once.h"
#include "libs/base/log.h"
#include "libs/base/processes.h"
#include "libs/operate/client.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"
#include "tests/harness/child.h"

namespace splitlet::ctl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Processes that serve another user. A call without an immediate answer would take minutes.
class RefusedTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& process : ProcessNames()) {
      auto server = rpc::StartServer({.socket_path = rpc::SocketPath(dir_.path(), process),
                                      .services = {&admin_},
                                      .allowed_uids = {geteuid() + 12345}},
                                     Log(sink_));
      ASSERT_TRUE(server.ok()) << server.status();
      servers_.push_back(*std::move(server));
    }
  }
  operate::Context context() {
    return {.client = client_,
            .out = out_,
            .err = err_,
            .stopped = [] { return false; },
            .exit_code = exit_code_};
  }

  harness::TempDir dir_;
  FakeLogSink sink_;
  v1::Admin::Service admin_;
  RealClock clock_;
  std::vector<std::unique_ptr<rpc::Server>> servers_;
  operate::Client client_{{.top = "here", .run_dir = dir_.path()}, clock_};
  std::ostringstream out_, err_;
  int exit_code_ = 0;
};

TEST_F(RefusedTest, ProcessesAreCalledRefusedAndNotDown) {
  const Status status = GetProcesses(context(), "");
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("down")));
  EXPECT_THAT(out_.str(), HasSubstr("refused"));
  EXPECT_THAT(out_.str(), HasSubstr("pleg refuses user "));
  EXPECT_THAT(out_.str(), HasSubstr("this process serves the users "));
}

TEST_F(RefusedTest, CommandsThatTakeLongEndImmediately) {
  const Status once = RunOnce(context(), "10m");
  EXPECT_EQ(once.code(), StatusCode::kPermissionDenied) << once;
  EXPECT_THAT(Message(once), StartsWith("config-source refuses user "));
  const Status gc = Gc(context(), true);
  EXPECT_EQ(gc.code(), StatusCode::kPermissionDenied) << gc;
  EXPECT_THAT(Message(gc), StartsWith("gc refuses user "));
}

TEST_F(RefusedTest, PodsAreRefusedAndNotAbsent) {
  const auto pods = FindPods(context(), {});
  EXPECT_EQ(pods.status().code(), StatusCode::kPermissionDenied) << pods.status();
  EXPECT_EQ(GetPods(context(), {}).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(GetNode(context(), {}).code(), StatusCode::kPermissionDenied);
}

TEST_F(RefusedTest, TheDoctorDoesNotAdviseToKillAProcess) {
  EXPECT_FALSE(Doctor(context(), "unix:///none.sock").ok());
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("process kill")));
  EXPECT_THAT(out_.str(),
              HasSubstr("-> run as root, or as the user that splitlet.users names ctl"));
}

TEST(StoppedStack, IsOneFindingOfTheDoctor) {
  const RealClock clock;
  const operate::Client client({.top = "/s", .stopped = true}, clock);
  const auto findings = Examine(client, "unix:///none.sock");
  EXPECT_EQ(findings.back().found, "the stack in /s is stopped");
  EXPECT_EQ(findings.back().to_do, "make run");
}

}  // namespace
}  // namespace splitlet::ctl
