#include "libs/cgroup/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/fail_point.h"
#include "libs/cgroup/fake_kernel.h"
#include "libs/cgroup/fake_systemd.h"
#include "libs/cgroup/tree.h"
#include "libs/dbus/fake_bus.h"

namespace splitlet::cgroup {
namespace {

using dbus::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Formats numbers as "CPUWeight=39 ...".
std::string Show(const dbus::Values& properties) {
  std::string text;
  for (const Value& each : properties) {
    const auto& pair = std::get<dbus::Fields>(each.held).values;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", dbus::Get<std::string>(pair, 0).value(),
                        dbus::Get<uint64_t>(pair, 1).value());
  }
  return text;
}

TEST(SliceProperties, AreALimitsNamesAtSystemd) {
  const struct {
    const char* name;
    Version version;
    Limits limits;
    const char* want;
  } kCases[] = {
      {"nothing", Version::kV2, {}, ""},
      {"version 2",
       Version::kV2,
       {.cpu_shares = 1024,
        .cpu_quota_us = 20'000,
        .cpu_period_us = 100'000,
        .memory_bytes = 4096,
        .memory_min_bytes = 1024,
        .memory_low_bytes = 2048,
        .pids = 7,
        .huge_pages = {{"2MB", 0}}},
       "CPUWeight=39 CPUQuotaPeriodUSec=100000 CPUQuotaPerSecUSec=200000 MemoryMax=4096 "
       "MemoryMin=1024 MemoryLow=2048 TasksMax=7"},
      {"version 1",
       Version::kV1,
       {.cpu_shares = 1024, .memory_bytes = 4096, .memory_min_bytes = 1024},
       "CPUShares=1024 MemoryLimit=4096"},
      {"a quota of 12.5 hundredths is rounded up",
       Version::kV2,
       {.cpu_quota_us = 12'500, .cpu_period_us = 100'000},
       "CPUQuotaPeriodUSec=100000 CPUQuotaPerSecUSec=130000"},
      {"no limit at all is the largest number",
       Version::kV2,
       {.cpu_quota_us = kUnlimited, .memory_bytes = kUnlimited, .pids = kUnlimited},
       "CPUQuotaPerSecUSec=18446744073709551615 MemoryMax=18446744073709551615 "
       "TasksMax=18446744073709551615"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Show(SliceProperties(c.version, c.limits)), c.want);
  }
}

const Name kSlicedPod = SliceName({"kubepods", "burstable", "pod12-ab"});
constexpr const char* kPodSlice = "kubepods-burstable-pod12_ab.slice";

class SliceTree : public testing::TestWithParam<Version> {
 protected:
  SliceTree() {
    daemon.Serve(FakeSystemd::kName, [this](const auto& call) { return systemd.OnCall(call); });
  }
  std::string PathOf(const std::string& controller, const Name& name) const {
    return "/sys/fs/cgroup" + (GetParam() == Version::kV1 ? "/" + controller : "") +
           CgroupfsPath(name);
  }
  const FakeClock clock;
  const Layout layout = GetParam() == Version::kV1 ? FakeKernel::V1() : FakeKernel::V2();
  FakeKernel kernel{layout};
  dbus::FakeDaemon daemon;
  FakeSystemd systemd{kernel, layout, [this](const auto& signal) { daemon.Emit(signal); }};
  SystemdSlices slices{clock, daemon.MakeConnect(), 10ms};
  const Tree tree{kernel, layout, &slices};
};

TEST_P(SliceTree, IsMadeBySystemdWithItsParentsAndLimited) {
  ASSERT_TRUE(tree.Make(kSlicedPod).ok());
  EXPECT_THAT(systemd.Running(),
              ElementsAre(kPodSlice, "kubepods-burstable.slice", "kubepods.slice"));
  EXPECT_EQ(tree.Exists(kSlicedPod).value(), true)
      << "in hierarchies too that systemd leaves alone";
  const auto made = systemd.PropertiesOf(kPodSlice);
  EXPECT_EQ(made.at("Wants"), dbus::Strings({"kubepods-burstable.slice"}));
  EXPECT_EQ(systemd.PropertiesOf("kubepods.slice").at("Wants"), dbus::Strings({"-.slice"}));
  EXPECT_EQ(made.at("DefaultDependencies"), Value(false));
  for (const char* what : {"MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting"})
    EXPECT_EQ(made.at(what), Value(true)) << what;
  EXPECT_EQ(made.count("Delegate"), 0u) << "systemd refuses it for a slice";
  const Status set = tree.Set(kSlicedPod, {.cpu_shares = 1024, .pids = 7});
  ASSERT_TRUE(set.ok()) << set;
  EXPECT_EQ(systemd.PropertiesOf(kPodSlice).at("TasksMax"), Value(uint64_t{7}));
  EXPECT_EQ(kernel.Read(PathOf("pids", kSlicedPod) + "/pids.max").value(), "7");
  ASSERT_TRUE(tree.Make(kSlicedPod).ok()) << "again";
}

TEST_P(SliceTree, AUnitThatIsThereIsTaken) {
  systemd.Load(kPodSlice);
  const Status made = tree.Make(kSlicedPod);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(systemd.Runs(kPodSlice));
}

TEST_P(SliceTree, ACgroupThatIsMissingUnderItsUnitIsMadeAgain) {
  ASSERT_TRUE(tree.Make(kSlicedPod).ok());
  kernel.Drop(PathOf("memory", kSlicedPod));
  EXPECT_EQ(tree.Exists(kSlicedPod).value(), false);
  ASSERT_TRUE(tree.Make(kSlicedPod).ok());
  EXPECT_EQ(tree.Exists(kSlicedPod).value(), true);
}

TEST_P(SliceTree, WhatIsLeftInItIsKilledAndUnitAndCgroupGo) {
  ASSERT_TRUE(tree.Make(kSlicedPod).ok());
  kernel.AddProcess(PathOf("pids", kSlicedPod), 17);
  kernel.SetStubborn(17, 6);
  EXPECT_EQ(tree.Destroy(kSlicedPod).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(systemd.Runs(kPodSlice)) << "its stop would wait for the process";
  const Status gone = tree.Destroy(kSlicedPod);
  ASSERT_TRUE(gone.ok()) << gone;
  EXPECT_FALSE(systemd.Runs(kPodSlice));
  EXPECT_TRUE(systemd.Runs("kubepods-burstable.slice"));
  for (const auto& dir : kernel.Dirs()) EXPECT_THAT(dir, testing::Not(HasSubstr("pod12")));
  EXPECT_TRUE(tree.Destroy(kSlicedPod).ok()) << "again";
}

TEST_P(SliceTree, WithoutSystemdNothingIsMadeAndTheNextTryConnectsAnew) {
  daemon.FailConnect(Unavailable("no such file or directory"));
  const Status away = tree.Make(kSlicedPod);
  EXPECT_EQ(away.code(), StatusCode::kUnavailable);
  EXPECT_EQ(
      Message(away),
      "slices: start: kubepods.slice: connect to systemd: connect: no such file or directory");
  EXPECT_THAT(kernel.Dirs(), IsEmpty()) << "no cgroup is left that systemd does not know";
  daemon.FailConnect(OkStatus());
  ASSERT_TRUE(tree.Make(kSlicedPod).ok());
  daemon.LoseAll();
  ASSERT_TRUE(tree.Set(kSlicedPod, {.pids = 7}).ok()) << "lost, and connected again";
  EXPECT_EQ(daemon.buses(), 1u);
}

TEST_P(SliceTree, AJobThatDoesNotEndWellIsAnError) {
  systemd.SetJobResult("failed");
  const Status failed = tree.Make(kSlicedPod);
  EXPECT_EQ(failed.code(), StatusCode::kAborted);
  EXPECT_THAT(Message(failed), HasSubstr("systemd ended the job as \"failed\""));
  systemd.SetJobResult("");
  EXPECT_EQ(slices.Start("a.slice", "-.slice").code(), StatusCode::kDeadlineExceeded);
  systemd.SetJobResult("done");
  EXPECT_TRUE(slices.Start("a.slice", "-.slice").ok());
}

/// The kernel gets a limit even if systemd refuses it.
TEST_P(SliceTree, ALimitThatSystemdRefusesIsStillWritten) {
  ASSERT_TRUE(tree.Make(kSlicedPod).ok());
  systemd.Fail("SetUnitProperties", InvalidArgument("Cannot set property"));
  EXPECT_EQ(tree.Set(kSlicedPod, {.pids = 7}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(kernel.Read(PathOf("pids", kSlicedPod) + "/pids.max").value(), "7");
}

/// A run that is killed at each effect and repeated ends like an undisturbed run.
TEST_P(SliceTree, IsMadeAndTakenDownWhereverItIsKilled) {
  struct Killed {};
  FailPoints points{FailPoints::Actions{.crash = [] { throw Killed{}; }, .delay = [](int64_t) {}}};
  FailPoints::SetCurrent(&points);
  int deaths = 0;
  for (const char* point : {"slice.start.before", "slice.start.after", "slice.stop.before",
                            "slice.stop.after", "cgroup.make.before", "cgroup.remove.after"}) {
    for (int n = 0; n < 3; ++n) {
      ASSERT_TRUE(points.Set(point, fmt::format("{}*delay(1ms)->1*crash->off", n + 1)).ok());
      for (const bool make : {true, false, true, false}) {
        const auto run = [&] { return make ? tree.Make(kSlicedPod) : tree.Destroy(kSlicedPod); };
        try {
          EXPECT_TRUE(run().ok());
        } catch (const Killed&) {
          ++deaths;
          EXPECT_TRUE(run().ok()) << point;
        }
        EXPECT_EQ(tree.Exists(kSlicedPod).value(), make);
        EXPECT_EQ(systemd.Runs(kPodSlice), make) << point;
      }
      ASSERT_TRUE(points.Set(point, "off").ok());
      ASSERT_TRUE(tree.Destroy({"kubepods.slice"}).ok());
      EXPECT_THAT(kernel.Dirs(), IsEmpty());
    }
  }
  FailPoints::SetCurrent(nullptr);
  EXPECT_GT(deaths, 5);
}

INSTANTIATE_TEST_SUITE_P(Versions, SliceTree, testing::Values(Version::kV1, Version::kV2),
                         [](const auto& param) {
                           return std::string(param.param == Version::kV1 ? "v1" : "v2");
                         });

}  // namespace
}  // namespace splitlet::cgroup
