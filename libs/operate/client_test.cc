#include "libs/operate/client.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "libs/base/processes.h"

namespace splitlet::operate {
namespace {

namespace stdfs = std::filesystem;

class ProcessesHere : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (stdfs::temp_directory_path() / "ctl-client-XXXXXX").string();
    dir_ = mkdtemp(name.data());
  }
  void TearDown() override {
    std::error_code error;
    stdfs::remove_all(dir_, error);
  }
  std::vector<std::string> List() const {
    return Client({.top = "here", .run_dir = dir_}, clock_).ProcessesHere();
  }

  std::string dir_;
  RealClock clock_;
};

TEST_F(ProcessesHere, ThoseOfEveryNodeWhateverIsThere) {
  EXPECT_EQ(List(), ProcessNames());
  stdfs::create_directory(dir_ + "/node-api");  // the folder exists, although the process never ran
  EXPECT_EQ(List(), ProcessNames());
}

TEST_F(ProcessesHere, ThoseOfAClusterOnceTheyWereStarted) {
  stdfs::create_directory(dir_ + "/node-api");
  std::ofstream(dir_ + "/node-api/starts") << "1 1\n";
  const auto names = List();
  ASSERT_EQ(names.size(), ProcessNames().size() + 1);
  EXPECT_EQ(names.back(), "node-api");
  const auto views = Client({.top = "here", .run_dir = dir_}, clock_).ListProcesses();
  ASSERT_EQ(views.size(), names.size());
  EXPECT_EQ(views.back().name, "node-api");
  EXPECT_EQ(views.back().info, nullptr);
  EXPECT_NE(views.back().problem, "") << "it was started and does not run";
}

}  // namespace
}  // namespace splitlet::operate
