#include "services/node-api/logs/container_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/harness/child.h"

namespace splitlet::node_api {
namespace {

class ContainerLog : public testing::Test {
 protected:
  ContainerLog() {
    for (const char* folder : {"/pods/ns_web_1/app", "/pods/ns_other_2/app", "/docker/c1"})
      std::filesystem::create_directories(dir_.path() + folder);
    Put(Log(), "own\n");
    Put(dir_ / "pods/ns_other_2/app/0.log", "another's\n");
    Put(dir_ / "docker/c1/c1-json.log", "docker's\n");
    Put(dir_ / "secret", "secret\n");
  }
  std::string Root() const { return dir_ / "pods"; }
  std::string Log() const { return dir_ / "pods/ns_web_1/app/0.log"; }
  static void Put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  void Replace(const std::string& path, const std::string& target) {
    std::filesystem::remove_all(path);
    std::filesystem::create_symlink(target, path);
  }
  /// The bytes read, or the reason of the failure.
  std::string Read(const std::string& path) {
    const auto file = logs::MakeLogFiles(OpenerOfContainer(Root(), "c1"))->Open(path);
    if (!file.ok()) return Message(file.status());
    std::string bytes;
    EXPECT_EQ((*file)->ReadAt(0, 100, bytes), OkStatus());
    return bytes;
  }

  const harness::TempDir dir_{"container-log"};
};

TEST_F(ContainerLog, IsReadWhereItsRuntimeHasPutIt) {
  EXPECT_EQ(Read(Log()), "own\n");
  Replace(Log(), dir_ / "docker/c1/c1-json.log");
  EXPECT_EQ(Read(Log()), "docker's\n");
  std::filesystem::create_symlink(Root(), dir_ / "link");  // podLogsDir itself belongs to the
                                                           // administrator
  const auto files = logs::MakeLogFiles(OpenerOfContainer(dir_ / "link", "c1"));
  EXPECT_TRUE(files->Open(dir_ / "link/ns_web_1/app/0.log").ok());
}

TEST_F(ContainerLog, NoLinkLeadsElsewhere) {
  const std::string secret = dir_ / "secret", docker = dir_ / "docker/c1/c1-json.log";
  EXPECT_EQ(Read(secret), "it is not below " + Root());
  EXPECT_EQ(Read(Root() + "/../secret"), "it is not below " + Root());
  EXPECT_EQ(Read(Root() + "x/0.log"), "it is not below " + Root());
  Replace(Log(), secret);
  EXPECT_EQ(Read(Log()), "it is a link to " + secret);
  Replace(Log(), dir_ / "pods/ns_other_2/app/0.log");
  EXPECT_EQ(Read(Log()), "it is a link to " + (dir_ / "pods/ns_other_2/app/0.log"));
  Replace(Log(), "../../../docker/c1/c1-json.log");
  EXPECT_EQ(Read(Log()), "it is a link to ../../../docker/c1/c1-json.log");
  Replace(Log(), dir_ / "docker/c2/c2-json.log");
  EXPECT_EQ(Read(Log()), "it is a link to " + (dir_ / "docker/c2/c2-json.log"));
  Replace(Log(), docker);
  Replace(docker, secret);
  EXPECT_EQ(Read(Log()), "it is a link to a link to " + secret);
  Replace(dir_ / "docker/c1", dir_ / "pods");
  EXPECT_NE(Read(Log()).find("c1: it is a link"), std::string::npos) << Read(Log());
  Replace(dir_ / "pods/ns_web_1/app", dir_ / "pods/ns_other_2/app");
  EXPECT_EQ(Read(Log()), "app: it is a link");
  Replace(dir_ / "pods/ns_web_1", dir_ / "pods/ns_other_2");
  EXPECT_EQ(Read(Log()), "ns_web_1: it is a link");
}

TEST_F(ContainerLog, APipeHoldsNobodyUp) {
  std::filesystem::remove(Log());
  ASSERT_EQ(::mkfifo(Log().c_str(), 0600), 0);
  EXPECT_EQ(Read(Log()), "not a regular file");
}

TEST_F(ContainerLog, WhatIsFollowedStaysItsOwn) {
  const auto files = logs::MakeLogFiles(OpenerOfContainer(Root(), "c1"));
  const auto file = files->Open(Log());
  ASSERT_TRUE(file.ok()) << file.status();
  Replace(Log(), dir_ / "secret");
  EXPECT_FALSE((*file)->IsReplacedAt(Log())) << "a link that is not followed is no next file";
  std::filesystem::remove(Log());
  Put(Log(), "next\n");
  EXPECT_TRUE((*file)->IsReplacedAt(Log()));
}

}  // namespace
}  // namespace splitlet::node_api
