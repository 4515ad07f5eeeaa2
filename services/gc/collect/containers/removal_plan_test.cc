#include "services/gc/collect/containers/removal_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/gc/collect/containers/removal_scope.h"

namespace splitlet::gc {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;
const WallTime kNow = WallFromNanos(1000 * kHour);

struct World {
  Inventory inventory;
  GcConfig config;
  std::map<std::string, Scope> scopes;

  World() {
    config.state_id = "state";
    config.pod_logs_dir = "/var/log/pods";
  }
  std::string made_by = "state/node";

  void Sandbox(const std::string& id, const std::string& uid, cri::SandboxState state,
               int64_t hours_ago) {
    cri::Sandbox sandbox;
    sandbox.id = cri::SandboxId(id);
    sandbox.pod_uid = uid;
    sandbox.state = state;
    sandbox.created_at_ns = ToNanos(kNow) - hours_ago * kHour;
    if (!made_by.empty()) sandbox.annotations["splitlet.dev/node"] = made_by;
    inventory.sandboxes.push_back(sandbox);
  }
  void Container(const std::string& id, const std::string& uid, cri::ContainerState state,
                 int64_t hours_ago) {
    cri::Container container;
    container.id = cri::ContainerId(id);
    container.sandbox_id = cri::SandboxId("s-" + uid);
    container.name = "app";
    container.state = state;
    container.created_at_ns = ToNanos(kNow) - hours_ago * kHour;
    container.labels["io.kubernetes.pod.uid"] = uid;
    inventory.containers.push_back(container);
  }
  RemovalPlan Plan() const {
    return ComputeRemovals(
        inventory,
        [this](const std::string& uid, const PodTraces& traces) {
          const auto it = scopes.find(uid);
          if (it != scopes.end()) return it->second;
          return traces.ours ? Scope{RemovalScope::kWanted} : Scope{RemovalScope::kUnmanaged};
        },
        config, kNow);
  }
};

std::vector<std::string> Names(const std::vector<Removal>& removals) {
  std::vector<std::string> names;
  for (const auto& removal : removals) names.push_back(removal.name);
  std::ranges::sort(names);
  return names;
}
using List = std::vector<std::string>;

constexpr auto kGone = cri::ContainerState::kExited;
constexpr auto kRunning = cri::ContainerState::kRunning;
constexpr auto kReady = cri::SandboxState::kReady;
constexpr auto kNotReady = cri::SandboxState::kNotReady;

TEST(RemovalPlan, OfACrashingContainerOnlyTheNewestDeadOneStays) {
  World world;
  world.Sandbox("s-a", "a", kReady, 9);
  for (int i = 1; i <= 4; ++i) world.Container("c" + std::to_string(i), "a", kGone, 10 - i);
  world.Container("c5", "a", kRunning, 1);
  EXPECT_EQ(Names(world.Plan().containers), (List{"c1", "c2", "c3"}));
  world.config.max_per_container = 3;
  EXPECT_EQ(Names(world.Plan().containers), (List{"c1"}));
  world.config.max_per_container = 0;
  EXPECT_EQ(Names(world.Plan().containers), (List{"c1", "c2", "c3"}))
      << "the newest of an unfinished pod stays";
  world.config.max_per_container = -1;
  EXPECT_TRUE(world.Plan().containers.empty());
}

TEST(RemovalPlan, TheHigherAttemptStaysWhateverTheWallClockDid) {
  World world;
  world.Sandbox("s-0", "a", kNotReady, 2);
  world.Sandbox("s-1", "a", kNotReady, 9);
  world.inventory.sandboxes[1].attempt = 1;
  world.Container("c0", "a", kGone, 2);
  world.Container("c1", "a", kGone, 9);
  world.inventory.containers[1].attempt = 1;
  const RemovalPlan plan = world.Plan();
  EXPECT_EQ(Names(plan.containers), List{"c0"});
  EXPECT_EQ(Names(plan.sandboxes), List{"s-0"});
}

TEST(RemovalPlan, ARunningContainerNeverGoes) {
  World world;
  world.scopes["a"] = {RemovalScope::kEverything};
  world.Container("c1", "a", kRunning, 1000);
  EXPECT_TRUE(world.Plan().containers.empty());
}

TEST(RemovalPlan, TheAgeCountsFromCreation) {
  World world;
  world.Sandbox("s-a", "a", kReady, 9);
  world.config.min_age = 1h;
  world.Container("young", "a", kGone, 0);
  world.Container("old", "a", kGone, 2);
  world.Container("older", "a", kGone, 3);
  EXPECT_EQ(Names(world.Plan().containers), (List{"older"}))
      << "a young one is no candidate and does not count";
}

TEST(RemovalPlan, TheTotalIsSharedAmongNames) {
  World world;
  world.config.max_per_container = 3;
  world.config.max_total = 3;
  for (const std::string uid : {"a", "b"}) {
    world.Sandbox("s-" + uid, uid, kReady, 9);
    for (int i = 1; i <= 3; ++i) world.Container(uid + std::to_string(i), uid, kGone, 10 - i);
  }
  EXPECT_EQ(Names(world.Plan().containers), (List{"a1", "a2", "b1", "b2"}));
  world.config.max_total = 1;
  EXPECT_EQ(Names(world.Plan().containers), (List{"a1", "a2", "b1", "b2"}))
      << "the newest of each stays all the same";
  world.config.max_total = 6;
  EXPECT_TRUE(world.Plan().containers.empty());
}

TEST(RemovalPlan, ByFateOfThePod) {
  const struct {
    const char* name;
    Scope scope;
    List containers, sandboxes, log_dirs, pod_dirs;
  } kCases[] = {
      {"a gone pod leaves nothing",
       {RemovalScope::kEverything},
       {"c1", "c2"},
       {"s-a"},
       {"ns_n_a"},
       {"a"}},
      {"an evicted pod keeps its directory",
       {RemovalScope::kKeepDirectory},
       {"c1", "c2"},
       {"s-a"},
       {"ns_n_a"},
       {}},
      {"a finished pod keeps the directories of its logs and its own",
       {RemovalScope::kRuntimeOnly},
       {"c1", "c2"},
       {"s-a"},
       {},
       {}},
      {"a wanted pod keeps its newest", {RemovalScope::kWanted}, {"c1"}, {}, {}, {}},
      {"an unknown pod keeps all", {RemovalScope::kUnknown}, {}, {}, {}, {}},
      {"an unmanaged pod keeps all", {RemovalScope::kUnmanaged}, {}, {}, {}, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    World world;
    world.scopes["a"] = c.scope;
    world.Sandbox("s-a", "a", kNotReady, 9);
    world.Container("c1", "a", kGone, 8);
    world.Container("c2", "a", kGone, 7);
    world.inventory.log_dirs.push_back({"ns_n_a", "a"});
    world.inventory.pod_dirs.push_back({"a", "", ""});
    const auto plan = world.Plan();
    EXPECT_EQ(Names(plan.containers), c.containers);
    EXPECT_EQ(Names(plan.sandboxes), c.sandboxes);
    EXPECT_EQ(Names(plan.log_dirs), c.log_dirs);
    EXPECT_EQ(Names(plan.pod_dirs), c.pod_dirs);
  }
}

TEST(RemovalPlan, ACreatedContainerGoesOnlyWithItsPod) {
  World world;
  world.Sandbox("s-a", "a", kReady, 9);
  world.Container("c1", "a", cri::ContainerState::kCreated, 8);
  EXPECT_TRUE(world.Plan().containers.empty());
  world.scopes["a"] = {RemovalScope::kEverything};
  EXPECT_EQ(Names(world.Plan().containers), (List{"c1"}));
}

constexpr auto kLost = cri::ContainerState::kUnknown;

TEST(RemovalPlan, AContainerInUnknownStateGoesWithItsPod) {
  const struct {
    const char* name;
    Scope scope;
    std::set<std::string> unknown_before;
    List containers, sandboxes;
    size_t kept;
  } kCases[] = {
      {"of a pod that has ended", {RemovalScope::kEverything}, {}, {"c1"}, {"s-a"}, 0},
      {"of an evicted pod", {RemovalScope::kKeepDirectory}, {}, {"c1"}, {"s-a"}, 0},
      {"of a pod that its worker has ended",
       {RemovalScope::kEverything, true},
       {},
       {"c1"},
       {"s-a"},
       0},
      {"of an unknown pod, for the first time",
       {RemovalScope::kEverything, true, true},
       {},
       {},
       {},
       1},
      {"of an unknown pod, again",
       {RemovalScope::kEverything, true, true},
       {"c1"},
       {"c1"},
       {"s-a"},
       0},
      {"of a pod that is wanted", {RemovalScope::kWanted}, {"c1"}, {}, {}, 0},
      {"of an unmanaged pod", {RemovalScope::kUnmanaged}, {"c1"}, {}, {}, 1},
      {"of a pod whose record cannot be read", {RemovalScope::kUnknown}, {"c1"}, {}, {}, 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    World world;
    world.scopes["a"] = c.scope;
    world.Sandbox("s-a", "a", kNotReady, 9);
    world.Container("c1", "a", kLost, 8);
    world.inventory.unknown_before = c.unknown_before;
    world.inventory.log_dirs.push_back({"ns_n_a", "a"});
    const auto plan = world.Plan();
    EXPECT_EQ(Names(plan.containers), c.containers);
    EXPECT_EQ(Names(plan.sandboxes), c.sandboxes);
    EXPECT_EQ(plan.log_dirs.empty(), c.containers.empty());
    EXPECT_EQ(plan.kept.size(), c.kept);
  }
}

TEST(RemovalPlan, OfAWantedPodAnOlderContainerInUnknownStateGoes) {
  World world;
  world.Sandbox("s-a", "a", kReady, 9);
  world.Container("c1", "a", kGone, 9);
  world.Container("c2", "a", kGone, 8);
  world.Container("c3", "a", kLost, 7);
  world.Container("c4", "a", kLost, 6);
  EXPECT_EQ(Names(world.Plan().containers), (List{"c1", "c3"}))
      << "the newest dead one stays beside the newest: it says how the container ended";
  world.Container("c5", "a", kGone, 5);
  EXPECT_EQ(Names(world.Plan().containers), (List{"c1", "c2", "c3", "c4"}));
}

TEST(RemovalPlan, OfDeadSandboxesTheNewestStays) {
  World world;
  world.Sandbox("old", "a", kNotReady, 9);
  world.Sandbox("new", "a", kNotReady, 8);
  EXPECT_EQ(Names(world.Plan().sandboxes), (List{"old"}));
  world.scopes["a"] = {RemovalScope::kEverything};
  EXPECT_EQ(Names(world.Plan().sandboxes), (List{"new", "old"}));
}

TEST(RemovalPlan, ASandboxWithAContainerThatStaysIsInUse) {
  World world;
  world.Sandbox("s-a", "a", kNotReady, 9);
  world.Sandbox("new", "a", kNotReady, 1);
  world.Container("c1", "a", kGone, 8);
  EXPECT_TRUE(world.Plan().sandboxes.empty());
  world.scopes["a"] = {RemovalScope::kEverything};
  EXPECT_EQ(Names(world.Plan().sandboxes), (List{"new", "s-a"}))
      << "its container goes in the same round";
}

TEST(RemovalPlan, AReadySandboxNeverGoes) {
  World world;
  world.scopes["a"] = {RemovalScope::kEverything};
  world.Sandbox("s-a", "a", kReady, 9);
  world.inventory.log_dirs.push_back({"ns_n_a", "a"});
  world.inventory.pod_dirs.push_back({"a", "", ""});
  const auto plan = world.Plan();
  EXPECT_TRUE(plan.sandboxes.empty());
  EXPECT_TRUE(plan.log_dirs.empty());
  EXPECT_TRUE(plan.pod_dirs.empty());
}

TEST(RemovalPlan, WhoMadeAPodIsToldByItsSandboxOrItsDirectory) {
  World world;
  world.made_by = "";
  world.Sandbox("s-b", "b", kNotReady, 9);
  world.Sandbox("old-b", "b", kNotReady, 10);
  world.made_by = "other/node";
  world.Sandbox("s-c", "c", kNotReady, 9);
  world.inventory.log_dirs.push_back({"ns_n_d", "d"});
  world.inventory.pod_dirs.push_back({"e", "", ""});
  std::map<std::string, bool> asked;
  const auto plan = ComputeRemovals(
      world.inventory,
      [&](const std::string& uid, const PodTraces& traces) {
        asked[uid] = traces.ours;
        return traces.ours ? Scope{RemovalScope::kEverything} : Scope{RemovalScope::kUnmanaged};
      },
      world.config, kNow);
  EXPECT_EQ(asked,
            (std::map<std::string, bool>{{"b", false}, {"c", false}, {"d", false}, {"e", true}}));
  EXPECT_TRUE(plan.sandboxes.empty());
  EXPECT_TRUE(plan.log_dirs.empty());
  EXPECT_EQ(Names(plan.pod_dirs), (List{"e"}));
  EXPECT_EQ(plan.unmanaged_pods, 2u);
}

TEST(RemovalPlan, TheSourceOfAPodIsToldByItsSandbox) {
  World world;
  world.Sandbox("s-a", "a", kNotReady, 9);
  world.inventory.sandboxes.back().annotations["kubernetes.io/config.source"] = "http";
  world.Container("c-a", "a", kGone, 9);
  world.inventory.pod_dirs.push_back({"b", "", ""});
  std::map<std::string, std::string> asked;
  const auto plan = ComputeRemovals(
      world.inventory,
      [&](const std::string& uid, const PodTraces& traces) {
        asked[uid] = traces.source;
        return Scope{RemovalScope::kEverything, true};
      },
      world.config, kNow);
  EXPECT_EQ(asked, (std::map<std::string, std::string>{{"a", "http"}, {"b", ""}}));
  ASSERT_EQ(plan.containers.size(), 1u);
  EXPECT_EQ(plan.containers[0].source, "http");
  ASSERT_EQ(plan.sandboxes.size(), 1u);
  EXPECT_EQ(plan.sandboxes[0].source, "http");
  ASSERT_EQ(plan.pod_dirs.size(), 1u);
  EXPECT_EQ(plan.pod_dirs[0].source, "");
}

TEST(RemovalPlan, APodDirectoryWithDataStaysAndIsTold) {
  World world;
  world.inventory.pod_dirs.push_back({"a", "there are files in volumes/nfs", ""});
  world.scopes["a"] = {RemovalScope::kEverything};
  const auto plan = world.Plan();
  EXPECT_TRUE(plan.pod_dirs.empty());
  EXPECT_EQ(plan.kept, (List{"orphaned pod \"a\" found, but there are files in volumes/nfs"}));
}

TEST(RemovalPlan, DanglingLinksGoUnlessTheirContainerLives) {
  World world;
  world.Sandbox("s-a", "a", kReady, 9);
  world.Container("aaaaaaaa1", "a", kRunning, 8);
  world.Container("bbbbbbbb1", "a", kGone, 8);
  world.inventory.links = {{"/l/running", "aaaaaaaa"},
                           {"/l/dead", "bbbbbbbb1"},
                           {"/l/gone", "cccccccc"},
                           {"/l/odd", ""}};
  EXPECT_EQ(Names(world.Plan().links), (List{"/l/dead", "/l/gone", "/l/odd"}));
}

TEST(Inventory, NamesOnDisk) {
  EXPECT_EQ(UidOfLogDirectory("ns_name_0123-4"), "0123-4");
  EXPECT_EQ(UidOfLogDirectory("0123"), "0123");
  EXPECT_EQ(ContainerIdOfLink("web_default_app-0123456789ab.log"), "0123456789ab");
  EXPECT_EQ(ContainerIdOfLink("web_default_app-01.log"), "") << "too short for an id";
  EXPECT_EQ(ContainerIdOfLink("web"), "");
}

}  // namespace
}  // namespace splitlet::gc
