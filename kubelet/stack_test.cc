#include "kubelet/stack.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>

#include "libs/base/processes.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/real_file_system.h"
#include "tests/harness/child.h"

namespace splitlet::kubelet {
namespace {

using testing::Contains;

/// Program name -> its command line, given the flags `passed` of the launcher.
std::map<std::string, std::vector<std::string>> CommandsFor(std::vector<std::string> passed) {
  const FakeClock clock;
  fs::FakeFileSystem files(clock);
  EXPECT_TRUE(files.Replace("/s/nats/port", "4222\n", {}).ok());
  const Stack stack{.folder = "/s", .programs = "/bin", .scripts = "/lib"};
  Arguments arguments;
  arguments.passed = std::move(passed);
  std::map<std::string, std::vector<std::string>> commands;
  const auto programs = ProgramsOf(files, stack, arguments);
  EXPECT_TRUE(programs.ok()) << programs.status();
  for (const auto& program : *programs) commands[program.name] = program.argv;
  commands.erase("nats");
  return commands;
}

std::vector<std::string> NamesFor(std::vector<std::string> passed) {
  std::vector<std::string> names;
  for (const auto& [name, command] : CommandsFor(std::move(passed))) names.push_back(name);
  return names;
}

TEST(StackPrograms, ANodeOfAnApiServerHasTheNodesApi) {
  std::vector<std::string> all = ProcessNames();
  EXPECT_THAT(NamesFor({}), testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(NamesFor({"--node-name", "a"}), testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(NamesFor({"--kubeconfig", ""}), testing::UnorderedElementsAreArray(all));
  all.emplace_back("node-api");
  EXPECT_THAT(NamesFor({"--node-name", "a", "--kubeconfig", "/k"}),
              testing::UnorderedElementsAreArray(all));
}

TEST(StackPrograms, EachGetsTheApiServerAndAPasswordOfItsOwn) {
  for (const auto& [name, command] : CommandsFor({"--kubeconfig", "/k"})) {
    EXPECT_EQ(command.front(), "/bin/splitlet-" + name);
    EXPECT_THAT(command, Contains("/k"));
    EXPECT_THAT(command, Contains("/s/nats/creds/" + name));
  }
}

TEST(PrepareStack, WritesTheConfigurationForItsOwnProcessesAlone) {
  const harness::TempDir dir("stack");
  fs::RealFileSystem files;
  const Stack stack{.folder = dir / "s", .programs = dir / "none", .scripts = dir / "none"};
  EXPECT_FALSE(PrepareStack(files, stack, {}, "{}").ok()) << "there are no programs";
  struct stat info {};
  ASSERT_EQ(::stat(stack.config().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
}

}  // namespace
}  // namespace splitlet::kubelet
