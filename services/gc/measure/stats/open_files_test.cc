#include "services/gc/measure/stats/open_files.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

TEST(OpenFiles, TheSoftLimit) {
  const struct {
    const char* name;
    const char* limits;
    std::optional<int64_t> want;
  } kCases[] = {
      {"a number",
       "Limit                     Soft Limit           Hard Limit           Units     \n"
       "Max processes             7                    8                    processes \n"
       "Max open files            1024                 4096                 files     \n",
       1024},
      {"unlimited is -1", "Max open files            unlimited            unlimited    files\n",
       -1},
      {"a missing limit is unknown", "Max processes             7         8   processes\n",
       std::nullopt},
      {"the process has ended", "", std::nullopt},
      {"neither a number nor unlimited", "Max open files            much\n", std::nullopt},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(MaxOpenFiles(c.limits), c.want);
  }
}

class OpenFilesOfProcesses : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    EXPECT_TRUE(files.Replace(path, text, {}).ok());
  }
  void AddProcess(int64_t pid, size_t slots, const std::vector<std::string>& open) {
    const std::string process = fmt::format("/proc/{}/", pid);
    Write(process + "status", fmt::format("Name:\tapp\nFDSize:\t{}\nGroups:\t\n", slots));
    Write(process + "limits", fmt::format("Max open files   {}   4096   files\n", pid));
    EXPECT_TRUE(files.MakeDirs(process + "fd", 0755).ok());
    for (size_t i = 0; i < open.size(); ++i)
      EXPECT_TRUE(files.MakeSymlink(open[i], fmt::format("{}fd/{}", process, i)).ok());
  }
  v1::UsageStats Read(const std::vector<int64_t>& pids) {
    v1::UsageStats usage;
    ReadOpenFiles(files, pids, left, usage);
    return usage;
  }

  FakeClock clock;
  fs::FakeFileSystem files{clock};
  OpenFilesBudget left;
};

TEST_F(OpenFilesOfProcesses, AreAddedUp) {
  AddProcess(7, 64, {"/dev/null", "socket:[11]", "pipe:[3]"});
  AddProcess(8, 64, {"socket:[12]", "anon_inode:[eventpoll]"});
  const auto usage = Read({7, 8, 9});  // the last has ended
  EXPECT_EQ(usage.open_files(), 5U);
  EXPECT_EQ(usage.sockets(), 2U);
  EXPECT_EQ(usage.max_open_files(), 7);  // of the first
  EXPECT_EQ(left.slots, OpenFilesBudget().slots - 128);
  EXPECT_EQ(left.processes, OpenFilesBudget().processes - 3);
}

TEST_F(OpenFilesOfProcesses, WhatIsNotWhollyCountedHasNoNumber) {
  AddProcess(7, 64, {"/dev/null"});
  AddProcess(8, 1'048'576, {"/dev/null"});
  const struct {
    const char* name;
    std::vector<int64_t> pids;
    OpenFilesBudget left;
    bool limit, counts;
  } kCases[] = {
      {"within all bounds", {7}, {}, true, true},
      {"no process", {}, {}, false, false},
      {"one of a namespace that is not ours", {7, 0}, {}, true, false},
      {"the first is of such a namespace", {0, 7}, {}, false, false},
      {"one with room for too many", {7, 8}, {}, true, false},
      {"too many before", {7}, {.processes = 10, .slots = 63}, true, false},
      {"too many processes", {7, 7}, {.processes = 1, .slots = 1000}, true, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    left = c.left;
    const auto usage = Read(c.pids);
    EXPECT_EQ(usage.has_max_open_files(), c.limit);
    EXPECT_EQ(usage.has_open_files(), c.counts);
    EXPECT_EQ(usage.has_sockets(), c.counts);
  }
}

}  // namespace
}  // namespace splitlet::gc
