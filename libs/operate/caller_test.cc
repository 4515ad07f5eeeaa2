#include "libs/operate/caller.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "libs/operate/supervisor.h"
#include "tests/harness/child.h"
#include "tests/harness/other_user.h"

namespace splitlet::operate {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Stranger : public testing::Test {
 protected:
  void SetUp() override {
    if (!harness::CanBeOthers()) GTEST_SKIP() << "only root can be another user";
    ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
    std::filesystem::create_directories(dir_ / "run/pleg");
    harness::WriteFile(socket_, "");
    ASSERT_EQ(chmod(socket_.c_str(), 0660), 0);
    ASSERT_EQ(chown(socket_.c_str(), 12345, 54321), 0);
  }
  const harness::TempDir dir_;
  const std::string socket_ = dir_ / "run/pleg/rpc.sock";
};

TEST_F(Stranger, IsTheOneWhoIsNamed) {
  EXPECT_THAT(CallerText(), StartsWith("user 0 (root), groups 0 (root)"));
  const harness::OtherUser nobody;
  EXPECT_THAT(CallerText(), StartsWith("user 65534 ("));
  EXPECT_THAT(CallerText(), HasSubstr("), groups 65534 ("));
}

TEST_F(Stranger, IsToldForWhomASocketIs) {
  EXPECT_EQ(WhoMay(Use::kConnect, socket_), socket_) << "root may do all";
  const harness::OtherUser nobody;
  EXPECT_EQ(WhoMay(Use::kConnect, socket_), socket_ + " is for user 12345 and group 54321");
  EXPECT_TRUE(CheckMay(Use::kConnect, dir_ / "none", "pleg").ok()) << "absent is not refused";
  EXPECT_EQ(CheckMay(Use::kConnect, socket_, "pleg").code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(CheckMay(Use::kConnect, socket_, "pleg")),
              StartsWith("pleg refuses user 65534 ("));
}

TEST_F(Stranger, IsToldWhichFolderIsInTheWay) {
  ASSERT_EQ(chmod((dir_ / "run").c_str(), 0700), 0);
  {
    const harness::OtherUser nobody;
    EXPECT_EQ(WhoMay(Use::kConnect, socket_), dir_ / "run" + " is for user 0 (root)");
  }
  ASSERT_EQ(chmod((dir_ / "run").c_str(), 0750), 0);
  const harness::OtherUser nobody;
  EXPECT_EQ(WhoMay(Use::kConnect, socket_),
            dir_ / "run" + " is for user 0 (root) and group 0 (root)");
}

TEST_F(Stranger, IsRefusedByASupervisorAndNotToldThatNothingRuns) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  std::filesystem::create_directories("sv/pleg/supervise");
  harness::WriteFile("sv/pleg/supervise/pid", "1\n");
  harness::WriteFile("sv/pleg/supervise/control", "");
  ASSERT_EQ(chmod("sv/pleg/supervise", 0700), 0);
  const auto runit = FindSupervisor({.top = "here"});
  {
    const harness::OtherUser nobody;
    const Status refused = runit->Signal("pleg", 0).status();
    EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied) << refused;
    EXPECT_THAT(Message(refused), StartsWith("runit refuses user 65534 ("));
    EXPECT_THAT(Message(refused), HasSubstr("/sv/pleg/supervise is for user 0 (root)"));
    EXPECT_EQ(runit->Restart("pleg").code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(runit->TakeDown("pleg").code(), StatusCode::kPermissionDenied);
  }
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace splitlet::operate
