#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "libs/kube/image_name.h"
#include "libs/kube/pod_types.h"
#include "services/gc/collect/containers/removal_plan.h"
#include "services/gc/collect/containers/removal_scope.h"
#include "services/gc/collect/images/image_usage.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;
const WallTime kNow = WallFromNanos(1000 * kHour);

v1::DesiredRecord Desired(v1::DesiredRecord::State state, int64_t incarnation = 1) {
  v1::DesiredRecord record;
  record.set_state(state);
  record.set_incarnation(incarnation);
  return record;
}

v1::WorkerRecord Worker(v1::WorkerState state, bool evicted = false) {
  v1::WorkerRecord record;
  record.set_state(state);
  record.set_incarnation(1);
  record.set_evicted(evicted);
  return record;
}

/// The pod's source has removed it.
v1::WorkerRecord RemovedWorker(v1::WorkerState state) {
  v1::WorkerRecord record = Worker(state);
  record.set_removed(true);
  return record;
}

struct FateCase {
  const char* name;
  ScopeInput in;
  Scope want;
};

void Check(const std::vector<FateCase>& cases) {
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ComputeScope(c.in), c.want);
  }
}

/// All records that a case may show.
struct Records {
  v1::DesiredRecord wanted = Desired(v1::DesiredRecord::WANTED);
  v1::DesiredRecord next_life = Desired(v1::DesiredRecord::WANTED, 2);
  v1::DesiredRecord removed = Desired(v1::DesiredRecord::REMOVED);
  v1::WorkerRecord syncing = Worker(v1::SYNCING);
  v1::WorkerRecord terminated = Worker(v1::TERMINATED);
  v1::WorkerRecord finished = Worker(v1::FINISHED);
  v1::WorkerRecord finished_removed = RemovedWorker(v1::FINISHED);
  v1::WorkerRecord deleted_by_server = [] {
    v1::WorkerRecord record = RemovedWorker(v1::FINISHED);
    record.set_source(std::string(kube::kApiSource));
    return record;
  }();
  v1::WorkerRecord ending_removed = RemovedWorker(v1::TERMINATED);
  v1::WorkerRecord evicted = Worker(v1::TERMINATED, true);
  v1::WorkerRecord evicting = Worker(v1::TERMINATING, true);
};
using D = Seen<v1::DesiredRecord>;
using W = Seen<v1::WorkerRecord>;

TEST(PodFate, OfPodsThatAreKnown) {
  const Records r;
  Check({
      {"a running pod is wanted",
       {D{true, &r.wanted}, W{true, &r.syncing}, true, true},
       {RemovalScope::kWanted}},
      {"a pod that has no worker yet is wanted",
       {D{true, &r.wanted}, {}, true, true},
       {RemovalScope::kWanted}},
      {"a removed pod that still runs is wanted",
       {D{true, &r.removed}, W{true, &r.syncing}, true, true},
       {RemovalScope::kWanted}},
      {"a removed pod that is only terminated is wanted",
       {D{true, &r.removed}, W{true, &r.terminated}, true, true},
       {RemovalScope::kWanted}},
      {"removed and finished is gone, also in stale views",
       {D{true, &r.removed}, W{true, &r.finished}, false, true},
       {RemovalScope::kEverything}},
      {"finished while the object stays keeps the newest",
       {D{true, &r.wanted}, W{true, &r.finished}, true, true},
       {RemovalScope::kWanted}},
      {"finished and dropped by its source is gone",
       {{}, W{true, &r.finished}, true, true},
       {RemovalScope::kEverything, true}},
      {"finished and not shown by an incomplete view keeps the newest",
       {{}, W{true, &r.finished}, false, true},
       {RemovalScope::kWanted}},
      {"finished, and removed as its worker says, is gone whatever is incomplete",
       {{}, W{true, &r.finished_removed}, false, true},
       {RemovalScope::kEverything}},
      {"removed as its worker says and not finished is wanted",
       {{}, W{true, &r.ending_removed}, true, true},
       {RemovalScope::kWanted}},
      {"the next incarnation of a removed pod is wanted",
       {D{true, &r.next_life}, W{true, &r.finished_removed}, false, true},
       {RemovalScope::kWanted}},
      {"what an API server has deleted and still shows is wanted",
       {D{true, &r.wanted}, W{true, &r.finished_removed}, true, true},
       {RemovalScope::kWanted}},
      {"so it is while the server is away",
       {D{true, &r.wanted}, W{true, &r.deleted_by_server}, false, true},
       {RemovalScope::kWanted}},
      {"a removed one that an incomplete view still shows is gone",
       {D{true, &r.wanted}, W{true, &r.finished_removed}, false, true},
       {RemovalScope::kEverything}},
      {"the next incarnation of the UID is wanted",
       {D{true, &r.next_life}, W{true, &r.finished}, true, true},
       {RemovalScope::kWanted}},
  });
}

TEST(PodFate, OfFinishedPodsWhileTheNodeIsShortOfRoom) {
  const Records r;
  v1::WorkerRecord with_the_node = r.finished;
  with_the_node.set_shutdown_boot(7);
  const D wanted{true, &r.wanted};
  const auto short_of_disk = [](const D& desired, const W& worker) {
    return ScopeInput{.desired = desired,
                      .worker = worker,
                      .views_complete = true,
                      .ours = true,
                      .short_of_disk = true};
  };
  Check({
      {"what it left in the runtime may go",
       short_of_disk(wanted, {true, &r.finished}),
       {RemovalScope::kRuntimeOnly}},
      {"a pod that is only terminated keeps the newest",
       short_of_disk(wanted, {true, &r.terminated}),
       {RemovalScope::kWanted}},
      {"so does one that runs", short_of_disk(wanted, {true, &r.syncing}), {RemovalScope::kWanted}},
      {"one that ended with the node lives again",
       short_of_disk(wanted, {true, &with_the_node}),
       {RemovalScope::kWanted}},
      {"so does the next incarnation of the UID",
       short_of_disk({true, &r.next_life}, {true, &r.finished}),
       {RemovalScope::kWanted}},
      {"an evicted pod loses its logs, too",
       short_of_disk(wanted, {true, &r.evicted}),
       {RemovalScope::kKeepDirectory}},
      {"a removed one everything",
       short_of_disk({true, &r.removed}, {true, &r.finished}),
       {RemovalScope::kEverything}},
  });
}

TEST(PodFate, OfEvictedUnknownAndUnmanagedPods) {
  const Records r;
  Check({
      {"an evicted pod that has ended loses its content",
       {D{true, &r.wanted}, W{true, &r.evicted}, false, true},
       {RemovalScope::kKeepDirectory}},
      {"an evicted pod that still ends keeps it",
       {D{true, &r.wanted}, W{true, &r.evicting}, true, true},
       {RemovalScope::kWanted}},
      {"in no view is gone", {{}, {}, true, true}, {RemovalScope::kEverything, true, true}},
      {"in no view, of which some are incomplete, keeps the newest",
       {{}, {}, false, true},
       {RemovalScope::kWanted}},
      {"made by another program is unmanaged", {{}, {}, true, false}, {RemovalScope::kUnmanaged}},
      {"made by another program may be taken over",
       {{}, {}, true, false, true},
       {RemovalScope::kEverything, true, true}},
      {"made by another program and adopted is managed",
       {D{true, &r.wanted}, W{true, &r.syncing}, true, false},
       {RemovalScope::kWanted}},
      {"a record that cannot be read is unknown",
       {D{true, nullptr}, W{true, &r.finished}, true, true},
       {RemovalScope::kUnknown}},
      {"a worker that cannot be read is unknown",
       {D{true, &r.removed}, W{true, nullptr}, true, true},
       {RemovalScope::kUnknown}},
  });
}

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

TEST(Images, NamesAreCompleted) {
  const struct {
    const char *in, *want;
  } kCases[] = {
      {"busybox", "docker.io/library/busybox:latest"},
      {"me/app:1", "docker.io/me/app:1"},
      {"registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"},
      {"localhost:5000/a", "localhost:5000/a:latest"},
      {"a.io/b:1@sha256:00", "a.io/b@sha256:00"},
      {"sha256:00", "sha256:00"},
  };
  for (const auto& c : kCases) EXPECT_EQ(kube::NormalImageName(c.in), c.want);
}

constexpr uint64_t kGi = 1ull << 30;

TEST(Images, HowMuchHasToGo) {
  const GcConfig config;
  const struct {
    const char* name;
    ImageFs fs;
    int percent;
    uint64_t want;
  } kCases[] = {
      {"below the high threshold nothing goes", {100 * kGi, 16 * kGi}, 84, 0},
      {"at 86 % it goes down to 80 %", {100 * kGi, 14 * kGi}, 86, 6 * kGi},
      {"exactly at the threshold it begins", {100 * kGi, 15 * kGi}, 85, 5 * kGi},
      {"a part of a percent counts as used",
       {100 * kGi, 15 * kGi + kGi / 2},
       85,
       20 * kGi - 15 * kGi - kGi / 2},
      {"more available than there is counts as all", {100 * kGi, 200 * kGi}, 0, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(UsedPercent(c.fs), c.percent);
    EXPECT_EQ(BytesToFree(c.fs, config), c.want);
  }
}

struct ImageWorld {
  FakeClock clock;
  ImageUsage usage{clock.Now()};
  ImageUsage::Seen seen;
  GcConfig config;

  void Image(const std::string& id, const std::string& tag, bool pinned = false) {
    cri::Image image;
    image.id = id;
    image.tags = {tag};
    image.size_bytes = 10;
    image.pinned = pinned;
    seen.images.push_back(image);
  }
  void Use(const std::string& image_id) {
    cri::Container container;
    container.image_id = image_id;
    seen.containers.push_back(container);
  }
  List Removable() {
    usage.Observe(seen, clock.Now());
    List ids;
    for (const auto& removal : usage.Removable(config, clock.Now())) ids.push_back(removal.id);
    return ids;
  }
};

TEST(Images, TheLongestUnusedGoFirst) {
  ImageWorld world;
  for (const char* id : {"a", "b", "c", "never"}) world.Image(id, std::string("x.io/") + id + ":1");
  for (const char* id : {"a", "b", "c"}) world.Use(id);
  EXPECT_TRUE(world.Removable().empty());
  for (const char* last : {"b", "a", "c"}) {
    world.clock.Advance(1h);
    std::erase_if(world.seen.containers, [&](const auto& c) { return c.image_id == last; });
    world.Removable();
  }
  EXPECT_EQ(world.Removable(), (List{"never", "b", "a", "c"}));
}

TEST(Images, WhatIsYoungPinnedUsedOrWantedStays) {
  ImageWorld world;
  world.Image("pause", "registry.k8s.io/pause:3.9", /*pinned=*/true);
  world.Image("used", "docker.io/library/used:1");
  world.Image("by-name", "docker.io/library/named:latest");
  world.Image("wanted", "docker.io/library/wanted:latest");
  world.Use("used");
  world.Use("named");
  world.seen.wanted = {kube::NormalImageName("wanted")};
  world.Removable();
  world.clock.Advance(1min);
  world.Image("young", "x.io/young:1");
  world.Removable();
  world.clock.Advance(90s);
  EXPECT_TRUE(world.Removable().empty());
  world.clock.Advance(1h);
  EXPECT_EQ(world.Removable(), (List{"young"}));
}

TEST(Images, TheOldGoOnceTheirAgeCanBeKnown) {
  ImageWorld world;
  world.config.image_max_age = 24h;
  world.Image("never", "x.io/a:1");
  world.Image("used", "x.io/b:1");
  world.Use("used");
  world.Removable();
  world.clock.Advance(23h);
  EXPECT_TRUE(world.usage.TooOld(world.config, world.clock.Now()).empty());
  world.clock.Advance(2h);
  const auto old = world.usage.TooOld(world.config, world.clock.Now());
  ASSERT_EQ(old.size(), 1u);
  EXPECT_EQ(old[0].id, "never");
  EXPECT_EQ(old[0].reason, "age");
}

}  // namespace
}  // namespace splitlet::gc
