#include "libs/cgroup/names.h"

#include <gtest/gtest.h>

namespace splitlet::cgroup {
namespace {

using kube::QosClass;

constexpr const char* kStatic = "3b9ab3dbc1de4e0f9a2c1f0f9d2f6a11";

TEST(CgroupNames, PathsOfBothDrivers) {
  const struct {
    const char* name;
    Name cgroup;
    const char *cgroupfs, *systemd;
  } kCases[] = {
      {"the root", {}, "/", "/"},
      {"all pods", NodeName({}), "/kubepods", "/kubepods.slice"},
      {"a class", QosName({}, QosClass::kBestEffort), "/kubepods/besteffort",
       "/kubepods.slice/kubepods-besteffort.slice"},
      {"Guaranteed pods stand beside the classes", PodName({}, QosClass::kGuaranteed, "12-ab"),
       "/kubepods/pod12-ab", "/kubepods.slice/kubepods-pod12_ab.slice"},
      {"dashes of a UID are escaped", PodName({}, QosClass::kBurstable, "12-ab"),
       "/kubepods/burstable/pod12-ab",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice"},
      {"a static pod's UID has none", PodName({}, QosClass::kBestEffort, kStatic),
       "/kubepods/besteffort/pod3b9ab3dbc1de4e0f9a2c1f0f9d2f6a11",
       "/kubepods.slice/kubepods-besteffort.slice/"
       "kubepods-besteffort-pod3b9ab3dbc1de4e0f9a2c1f0f9d2f6a11.slice"},
      {"below another root", PodName({"node-a"}, QosClass::kGuaranteed, "1"),
       "/node-a/kubepods/pod1", "/node_a.slice/node_a-kubepods.slice/node_a-kubepods-pod1.slice"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(CgroupfsPath(c.cgroup), c.cgroupfs);
    EXPECT_EQ(SystemdPath(c.cgroup), c.systemd);
    const auto parsed = ParseCgroupfsPath(c.cgroupfs);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, c.cgroup);
  }
}

TEST(CgroupNames, APodIsKnownByItsLastComponent) {
  const struct {
    const char* component;
    std::optional<std::string> uid;
  } kCases[] = {
      {"pod12-ab", "12-ab"},
      {"kubepods-burstable-pod12_ab.slice", "12-ab"},
      {"kubepods-pod3b9a.slice", "3b9a"},
      {"burstable", std::nullopt},
      {"pod", std::nullopt},
      {"kubepods", std::nullopt},
      {"podpod1", std::nullopt},
      {"crio-pod1", std::nullopt},
      {"kubepods-burstable.slice", std::nullopt},
  };
  for (const auto& c : kCases) EXPECT_EQ(PodUidOf(c.component), c.uid) << c.component;
}

TEST(CgroupNames, APathThatIsNoNameIsRefused) {
  EXPECT_EQ(Message(ParseCgroupfsPath("kubepods").status()), "kubepods is not an absolute path");
  EXPECT_EQ(Message(ParseCgroupfsPath("/a/../b").status()), "\"..\" is not the name of a cgroup");
  EXPECT_EQ(Message(ParseCgroupfsPath("/a//b").status()), "\"\" is not the name of a cgroup");
}

TEST(CgroupNames, OfCgroupsThatSomebodyElseMade) {
  const auto path = [](Driver driver, const char* given) {
    const auto name = ParseExisting(driver, given);
    return name.ok() ? CgroupfsPath(*name) : Message(name.status());
  };
  EXPECT_EQ(path(Driver::kCgroupfs, "/system/x"), "/system/x");
  EXPECT_EQ(path(Driver::kCgroupfs, "/system.slice"), "/system.slice");
  EXPECT_EQ(path(Driver::kSystemd, "/system.slice"), "/system.slice");
  EXPECT_EQ(path(Driver::kSystemd, "/a-b.slice"), "/a.slice/a-b.slice");
  EXPECT_EQ(path(Driver::kSystemd, "/a.slice/a-b.slice"), "/a.slice/a-b.slice");
  EXPECT_EQ(path(Driver::kSystemd, "/system"), "/system is not a slice of systemd");
  for (const char* odd : {"/.slice", "/-.slice", "/a--b.slice", "/a-.slice", "/-a.slice"})
    EXPECT_FALSE(ParseExisting(Driver::kSystemd, odd).ok()) << odd;
  EXPECT_FALSE(ParseExisting(Driver::kSystemd, "system.slice").ok());
}

}  // namespace
}  // namespace splitlet::cgroup
