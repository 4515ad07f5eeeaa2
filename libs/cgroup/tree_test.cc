#include "libs/cgroup/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/fail_point.h"
#include "libs/cgroup/fake_kernel.h"

namespace splitlet::cgroup {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Name kPod = {"kubepods", "burstable", "pod1"};

constexpr const char* kHybrid =
    "20 1 0:19 / / rw - ext4 /dev/vda rw\n"
    "27 24 0:22 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw\n"
    "28 27 0:23 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
    "29 27 0:24 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "30 27 0:25 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "31 27 0:26 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
    "32 27 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
    "33 27 0:24 / /run/other/place/memory rw - cgroup cgroup rw,memory\n"
    "34 27 0:24 /docker/1 /m rw - cgroup cgroup rw,memory\n";

TEST(CgroupLayout, HybridIsVersion1WithTheShortestPathOfEachController) {
  const auto layout = ParseLayout(kHybrid);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->version, Version::kV1);
  EXPECT_THAT(layout->mounts, ElementsAre(testing::Pair("cpu", "/sys/fs/cgroup/cpu,cpuacct"),
                                          testing::Pair("cpuacct", "/sys/fs/cgroup/cpu,cpuacct"),
                                          testing::Pair("memory", "/sys/fs/cgroup/memory"),
                                          testing::Pair("pids", "/sys/fs/cgroup/pids"),
                                          testing::Pair("systemd", "/sys/fs/cgroup/systemd"),
                                          testing::Pair("unified", "/sys/fs/cgroup/unified")));
}

TEST(CgroupLayout, Version2IsMountedInThePlaceOfAll) {
  const auto layout =
      ParseLayout("30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->version, Version::kV2);
  EXPECT_EQ(layout->mounts.at(""), "/sys/fs/cgroup");
}

TEST(CgroupLayout, WhatAContainerSeesIsNoWholeHierarchy) {
  for (const char* text : {"30 23 0:26 /../../x /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "",
                           "34 27 0:24 /docker/1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"})
    EXPECT_EQ(ParseLayout(text).status().code(), StatusCode::kFailedPrecondition) << text;
}

class CgroupTree : public testing::TestWithParam<Version> {
 protected:
  std::string PathOf(const std::string& controller, const std::string& name) const {
    return "/sys/fs/cgroup" + (GetParam() == Version::kV1 ? "/" + controller : "") + name;
  }
  std::string Value(const std::string& controller, const std::string& file) {
    return kernel.Read(PathOf(controller, CgroupfsPath(kPod)) + "/" + file).value_or("absent");
  }
  const Layout layout = GetParam() == Version::kV1 ? FakeKernel::V1() : FakeKernel::V2();
  FakeKernel kernel{layout};
  const Tree tree{kernel, layout};
};

TEST_P(CgroupTree, IsMadeWithItsParentsAndLimited) {
  EXPECT_EQ(tree.Exists(kPod).value(), false);
  ASSERT_TRUE(tree.Make(kPod).ok());
  ASSERT_TRUE(tree.Make(kPod).ok()) << "again";
  EXPECT_EQ(tree.Exists(kPod).value(), true);
  const Status set = tree.Set(kPod, {.cpu_shares = 1024,
                                     .cpu_quota_us = 20'000,
                                     .cpu_period_us = 100'000,
                                     .memory_bytes = 4096,
                                     .pids = 7,
                                     .huge_pages = {{"2MB", 0}, {"1GB", 0}}});
  ASSERT_TRUE(set.ok()) << set;
  const bool v1 = GetParam() == Version::kV1;
  EXPECT_EQ(v1 ? Value("cpu", "cpu.shares") : Value("", "cpu.weight"), v1 ? "1024" : "39");
  EXPECT_EQ(v1 ? Value("cpu", "cpu.cfs_quota_us") : Value("", "cpu.max"),
            v1 ? "20000" : "20000 100000");
  EXPECT_EQ(v1 ? Value("memory", "memory.limit_in_bytes") : Value("", "memory.max"), "4096");
  EXPECT_EQ(Value("pids", "pids.max"), "7");
  if (v1) {
    EXPECT_EQ(Value("cpuset", "cpuset.cpus"), "0-1");
  }
}

TEST_P(CgroupTree, IsGoneWhenOneHierarchyHasItNot) {
  ASSERT_TRUE(tree.Make(kPod).ok());
  kernel.Drop(PathOf("memory", CgroupfsPath(kPod)));
  EXPECT_EQ(tree.Exists(kPod).value(), false);
}

TEST_P(CgroupTree, WhatIsLeftInItIsKilledAndItGoesWithAllBelow) {
  ASSERT_TRUE(tree.Make(kPod).ok());
  Name below = kPod;
  below.push_back("container");
  ASSERT_TRUE(tree.Make(below).ok());
  kernel.AddProcess(PathOf("pids", CgroupfsPath(below)), 17);
  kernel.AddProcess(PathOf("memory", CgroupfsPath(kPod)), 18);
  kernel.SetStubborn(18, 3);
  EXPECT_THAT(tree.Pids(kPod).value(), ElementsAre(17, 18));
  EXPECT_EQ(tree.RemoveEmpty(kPod).code(), StatusCode::kFailedPrecondition);
  const Status gone = tree.Destroy(kPod);
  ASSERT_TRUE(gone.ok()) << gone;
  EXPECT_THAT(kernel.killed(), ElementsAre(17, 18));
  for (const auto& dir : kernel.Dirs()) EXPECT_THAT(dir, testing::Not(HasSubstr("pod1")));
  EXPECT_TRUE(tree.Destroy(kPod).ok()) << "again";
}

TEST_P(CgroupTree, AProcessThatDoesNotEndInFiveRoundsIsForTheNextTime) {
  ASSERT_TRUE(tree.Make(kPod).ok());
  kernel.AddProcess(PathOf("pids", CgroupfsPath(kPod)), 17);
  kernel.SetStubborn(17, 5);
  const Status first = tree.Destroy(kPod);
  EXPECT_EQ(first.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(first), HasSubstr("failed to delete cgroup paths for "
                                        "/kubepods/burstable/pod1: " +
                                        PathOf("pids", CgroupfsPath(kPod)) + ": "));
  EXPECT_TRUE(tree.Destroy(kPod).ok());
}

TEST_P(CgroupTree, ErrorsNameTheFile) {
  ASSERT_TRUE(tree.Make(kPod).ok());
  const std::string file = PathOf("pids", CgroupfsPath(kPod)) + "/pids.max";
  kernel.FailWrite(file, PermissionDenied("permission denied"));
  EXPECT_EQ(Message(tree.Set(kPod, {.pids = 7, .huge_pages = {}})),
            file + ": \"7\": permission denied");
  kernel.FailMakeDir(PermissionDenied("read-only file system"));
  EXPECT_THAT(Message(tree.Make({"other"})), HasSubstr("/other: "));
}

/// A run that is killed at each effect and repeated ends like an undisturbed run.
TEST_P(CgroupTree, IsMadeAndTakenDownWhereverItIsKilled) {
  struct Killed {};
  FailPoints points{FailPoints::Actions{.crash = [] { throw Killed{}; }, .delay = [](int64_t) {}}};
  FailPoints::SetCurrent(&points);
  int deaths = 0;
  for (const char* point :
       {"cgroup.make.before", "cgroup.make.after", "cgroup.write.before", "cgroup.write.after",
        "cgroup.remove.before", "cgroup.remove.after", "cgroup.kill.before", "cgroup.kill.after"}) {
    for (int n = 0; n < 4; ++n) {
      ASSERT_TRUE(points.Set(point, fmt::format("{}*delay(1ms)->1*crash->off", n + 1)).ok());
      for (int step = 0; step < 3; ++step) {
        const auto run = [&] {
          if (step == 0) return tree.Make(kPod);
          if (step == 1) return tree.Set(kPod, {.pids = 7, .huge_pages = {}});
          return tree.Destroy(kPod);
        };
        if (step == 2 && kernel.Dirs().size() > 2) {
          kernel.AddProcess(PathOf("pids", CgroupfsPath(kPod)), 17);
          kernel.SetStubborn(17, 2);
        }
        try {
          EXPECT_TRUE(run().ok());
        } catch (const Killed&) {
          ++deaths;
          EXPECT_TRUE(run().ok()) << point;
        }
        if (step == 1) {
          EXPECT_EQ(Value("pids", "pids.max"), "7");
        }
      }
      EXPECT_EQ(tree.Exists(kPod).value(), false);
      ASSERT_TRUE(points.Set(point, "off").ok());
      ASSERT_TRUE(tree.Destroy({"kubepods"}).ok());
      EXPECT_THAT(kernel.Dirs(), IsEmpty());
    }
  }
  FailPoints::SetCurrent(nullptr);
  EXPECT_GT(deaths, 10);
}

INSTANTIATE_TEST_SUITE_P(Versions, CgroupTree, testing::Values(Version::kV1, Version::kV2),
                         [](const auto& param) {
                           return std::string(param.param == Version::kV1 ? "v1" : "v2");
                         });

}  // namespace
}  // namespace splitlet::cgroup
