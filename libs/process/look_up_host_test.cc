#include "libs/process/look_up_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitlet::process {
namespace {

using testing::ElementsAre;

TEST(LookUpHost, EachAddressIsGivenOnceInTheResolversOrder) {
  std::vector<std::string> argv;
  const auto run = [&argv](const Program& program) -> StatusOr<std::string> {
    argv = program.argv;
    return std::string(
        "fd00::7        STREAM node-a.example\nfd00::7        DGRAM\nfd00::7        RAW\n"
        "192.0.2.7      STREAM\n192.0.2.7      DGRAM\n");
  };
  const auto found = LookUpHost(run, "node-a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre("fd00::7", "192.0.2.7"));
  EXPECT_THAT(argv, ElementsAre("getent", "ahosts", "--", "node-a"));
}

TEST(LookUpHost, ANameThatNobodyHasIsNotFound) {
  const auto nobody = [](const Program& program) -> StatusOr<std::string> {
    *program.exit_code = 2;
    return Unavailable("exit code 2");
  };
  EXPECT_EQ(LookUpHost(nobody, "node-a").status().code(), StatusCode::kNotFound);
  const auto late = [](const Program&) -> StatusOr<std::string> {
    return DeadlineExceeded("late");
  };
  EXPECT_EQ(LookUpHost(late, "node-a").status().code(), StatusCode::kDeadlineExceeded);
}

TEST(LookUpHost, TheHostsFileIsAsked) {
  const auto found = LookUpHost(RunProgram, "localhost");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, testing::Contains(testing::AnyOf("127.0.0.1", "::1")));
}

}  // namespace
}  // namespace splitlet::process
