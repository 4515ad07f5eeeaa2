#include "libs/operate/host_resources.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "libs/operate/runtime_leaks.h"
#include "tests/harness/child.h"

namespace splitlet::operate {
namespace {

using testing::Contains;
using testing::IsEmpty;

class HostResources : public testing::Test {
 protected:
  std::string Folder(const std::string& name) const {
    std::filesystem::create_directories(dir_ / name);
    return dir_ / name;
  }
  std::set<std::string> All() const { return HostResourcesOf(places_, {}); }

  const harness::TempDir dir_{"hr"};
  const PodPlaces places_{.tops = {dir_.path()},
                          .root = dir_ / "kubelet",
                          .state = dir_ / "state",
                          .run = dir_ / "run",
                          .logs = dir_ / "pods",
                          .containerd = dir_ / "containerd"};
};

TEST_F(HostResources, OfNothingAreNone) {
  EXPECT_THAT(All(), IsEmpty());
  Folder("kubelet/pods");
  Folder("state/pod-worker/pods");
  EXPECT_THAT(All(), IsEmpty());
  EXPECT_THAT(HostResourcesOf({}, {}), IsEmpty());
}

TEST_F(HostResources, AreWhatWasPlanted) {
  const std::string id(64, 'a');
  const struct {
    std::string folder, want;
  } kCases[] = {
      {"kubelet/pods/u", "pod directory u"},
      {"state/pods/u", "mark of a pod directory u"},
      {"state/pod-worker/pods/u", "record of pod-worker u"},
      {"state/config-source/pods/u", "record of config-source u"},
      {"run/sync-loop/admission/u", "admission u"},
      {"pods/default_web_u", "log directory default_web_u"},
      {"containerd/runc/k8s.io/" + id, "container of runc " + id},
      {"containerd/state/io.containerd.runtime.v2.task/k8s.io/" + id, "task " + id},
      {"containerd/state/io.containerd.grpc.v1.cri/netns/cni-1", "network namespace cni-1"},
      {"containerd/cni/ipam/net/10.88.0.7", "address 10.88.0.7"},
  };
  for (const auto& c : kCases) {
    const auto before = All();
    EXPECT_FALSE(before.contains(c.want));
    Folder(c.folder);
    EXPECT_THAT(All(), Contains(c.want));
  }
  EXPECT_EQ(All().size(), std::size(kCases));
}

TEST_F(HostResources, OfARuntimeThatIsLostAreRemovedByHand) {
  const std::string id(64, 'a');
  Folder("containerd/runc/k8s.io/" + id);
  Folder("containerd/state/io.containerd.runtime.v2.task/k8s.io/" + id);
  const auto planted = All();
  EXPECT_EQ(planted.size(), 2u);
  for (const auto& resource : planted) RemoveHostResource(places_, resource);
  EXPECT_THAT(All(), IsEmpty());
}

TEST_F(HostResources, AMountIsOneAndSoIsACgroupOfAKnownPod) {
  if (geteuid() != 0) GTEST_SKIP() << "mounts and cgroups need root";
  const std::string place = Folder("kubelet/pods/u/volumes/v");
  ASSERT_EQ(mount("tmpfs", place.c_str(), "tmpfs", 0, "size=4k"), 0);
  EXPECT_THAT(All(), Contains("mount " + place));
  RemoveHostResource(places_, "mount " + place);
  EXPECT_FALSE(All().contains("mount " + place));

  const std::string controller =
      std::filesystem::exists("/sys/fs/cgroup/pids") ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
  const std::string top = fmt::format("{}/splitlet-host-resources-{}", controller, getpid());
  const std::string uid = fmt::format("0-{}", getpid());
  const std::string group = top + "/kubepods-pod" + uid + ".slice";
  if (mkdir(top.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup can be made here";
  EXPECT_EQ(mkdir(group.c_str(), 0755), 0);
  EXPECT_THAT(CgroupsOf({.ids = {}, .uids = {uid}}), testing::ElementsAre(group));
  EXPECT_THAT(CgroupsOf({.ids = {}, .uids = {"another"}}), IsEmpty());
  RemoveHostResource(places_, "cgroup " + group);
  EXPECT_THAT(CgroupsOf({.ids = {}, .uids = {uid}}), IsEmpty());
  rmdir(top.c_str());
}

TEST(RuntimeLeaks, AreWhatTheRuntimeDoesNotList) {
  const std::string known(64, 'a'), lost(64, 'b'), container(64, 'c');
  const std::set<std::string> sandbox = {known}, both = {known, container}, none;
  const struct {
    const char* name;
    std::string resource;
    std::optional<std::set<std::string>> listed;
    bool leak;
  } kCases[] = {
      {"of a sandbox that is listed", "shim 7 of " + known, sandbox, false},
      {"of a container that is listed", "task " + container, both, false},
      {"of an id that is not listed", "cgroup /x/" + lost, both, true},
      {"the same of an empty runtime", "cgroup /x/" + lost, none, true},
      {"a network while there is a sandbox", "network namespace cni-1", sandbox, false},
      {"a network of no sandbox at all", "network namespace cni-1", none, true},
      {"a link while there is a sandbox", "link veth1", sandbox, false},
      {"a link of no sandbox at all", "link veth1", none, true},
      {"a mount that another program has to remove", "mount /pods/u/volumes/v", none, false},
      {"a directory of a pod", "pod directory chaos-same-0", none, false},
      {"an address", "address 10.88.0.7", none, false},
      {"anything while the runtime does not answer", "task " + lost, std::nullopt, false},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(RuntimeLeaksOf({c.resource}, c.listed).size(), c.leak ? 1u : 0u) << c.name;
}

}  // namespace
}  // namespace splitlet::operate
