#include "libs/cgroup/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace splitlet::cgroup {
namespace {

using testing::ElementsAre;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(CgroupValues, SharesAndWeights) {
  const struct {
    int64_t millicores, shares, weight;
  } kCases[] = {{0, 2, 1},
                {1, 2, 1},
                {100, 102, 4},
                {500, 512, 20},
                {1000, 1024, 39},
                {1500, 1536, 59},
                {256'000, 262'144, 10'000},
                {1'000'000, 262'144, 10'000},
                {kMost, 262'144, 10'000}};
  for (const auto& c : kCases) {
    EXPECT_EQ(CpuShares(c.millicores), c.shares) << c.millicores;
    EXPECT_EQ(CpuWeight(c.shares), c.weight) << c.shares;
  }
  EXPECT_EQ(CpuWeight(0), 0) << "not to be written";
}

TEST(CgroupValues, Quotas) {
  EXPECT_EQ(CpuQuota(0, 100'000), 0) << "no limit";
  EXPECT_EQ(CpuQuota(5, 100'000), 1000) << "the kernel's least";
  EXPECT_EQ(CpuQuota(1500, 100'000), 150'000);
  EXPECT_EQ(CpuQuota(500, 5000), 2500);
  EXPECT_EQ(CpuQuota(kMost, 100), kMost / 10);
  EXPECT_EQ(CpuQuota(kMost, 100'000), kMost);
}

TEST(CgroupValues, FilesOfEachVersion) {
  const Limits all{.cpu_shares = 1024,
                   .cpu_quota_us = 50'000,
                   .cpu_period_us = 100'000,
                   .memory_bytes = 1 << 20,
                   .memory_min_bytes = 1 << 19,
                   .memory_low_bytes = 0,
                   .pids = 100,
                   .huge_pages = {{"2MB", 4 << 20}}};
  EXPECT_THAT(SettingsOf(Version::kV1, all),
              ElementsAre(Setting{"cpu", "cpu.shares", "1024"},
                          Setting{"cpu", "cpu.cfs_period_us", "100000"},
                          Setting{"cpu", "cpu.cfs_quota_us", "50000"},
                          Setting{"memory", "memory.limit_in_bytes", "1048576"},
                          Setting{"pids", "pids.max", "100"},
                          Setting{"hugetlb", "hugetlb.2MB.limit_in_bytes", "4194304"},
                          Setting{"hugetlb", "hugetlb.2MB.rsvd.limit_in_bytes", "4194304"}));
  EXPECT_THAT(
      SettingsOf(Version::kV2, all),
      ElementsAre(Setting{"cpu", "cpu.weight", "39"}, Setting{"cpu", "cpu.max", "50000 100000"},
                  Setting{"memory", "memory.max", "1048576"},
                  Setting{"memory", "memory.min", "524288"}, Setting{"memory", "memory.low", "0"},
                  Setting{"pids", "pids.max", "100"},
                  Setting{"hugetlb", "hugetlb.2MB.max", "4194304"},
                  Setting{"hugetlb", "hugetlb.2MB.rsvd.max", "4194304"}));
}

TEST(CgroupValues, NoLimitHasAWordOfItsOwn) {
  const Limits none{
      .cpu_quota_us = kUnlimited, .memory_bytes = kUnlimited, .pids = kUnlimited, .huge_pages = {}};
  EXPECT_THAT(SettingsOf(Version::kV1, none),
              ElementsAre(Setting{"cpu", "cpu.cfs_quota_us", "-1"},
                          Setting{"memory", "memory.limit_in_bytes", "-1"},
                          Setting{"pids", "pids.max", "max"}));
  EXPECT_THAT(SettingsOf(Version::kV2, none),
              ElementsAre(Setting{"cpu", "cpu.max", "max"}, Setting{"memory", "memory.max", "max"},
                          Setting{"pids", "pids.max", "max"}));
  EXPECT_THAT(SettingsOf(Version::kV2, {}), ElementsAre());
}

}  // namespace
}  // namespace splitlet::cgroup
