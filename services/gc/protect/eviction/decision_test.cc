#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "services/gc/protect/eviction/message.h"
#include "services/gc/protect/eviction/ranking.h"
#include "services/gc/protect/eviction/test_usage.h"
#include "services/gc/protect/pressure/thresholds.h"

namespace splitlet::gc {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Pair;

std::vector<std::string> Keys(const std::vector<Threshold>& thresholds) {
  std::vector<std::string> keys;
  for (const auto& threshold : thresholds) keys.push_back(KeyOf(threshold));
  return keys;
}

Clock::Time At(Duration time) { return {1, time}; }

// --- Thresholds.

TEST(EvictionThresholds, ComeFromTheConfiguration) {
  GcConfig config;
  config.eviction_hard = {{"nodefs.available", "10%"}, {"memory.available", "100Mi"}};
  config.eviction_soft = {{"memory.available", "1Gi"}};
  config.eviction_soft_grace = {{"memory.available", 90s}};
  config.eviction_minimum_reclaim = {{"memory.available", "50Mi"}};
  EXPECT_EQ(ThresholdsOf(config),
            (std::vector<Threshold>{{"memory.available", "100Mi", 0s, "50Mi"},
                                    {"nodefs.available", "10%", 0s, ""},
                                    {"containerfs.available", "10%", 0s, ""},
                                    {"memory.available", "1Gi", 90s, "50Mi"}}));
}

TEST(EvictionThresholds, ThoseOfNodefsCountForContainerfsWhichHasNoneOfItsOwn) {
  GcConfig config;
  config.eviction_hard = {{"containerfs.available", "50%"}, {"nodefs.inodesFree", "5%"}};
  config.eviction_soft = {{"containerfs.inodesFree", "50%"}, {"nodefs.available", "20%"}};
  config.eviction_soft_grace = {{"containerfs.inodesFree", 1s}, {"nodefs.available", 90s}};
  config.eviction_minimum_reclaim = {{"containerfs.available", "9%"}, {"nodefs.available", "1%"}};
  EXPECT_EQ(ThresholdsOf(config),
            (std::vector<Threshold>{{"nodefs.inodesFree", "5%", 0s, ""},
                                    {"containerfs.inodesFree", "5%", 0s, ""},
                                    {"nodefs.available", "20%", 90s, "1%"},
                                    {"containerfs.available", "20%", 90s, "1%"}}));
}

TEST(EvictionThresholds, TheHardOneOfMemoryCountsForAllPodsTogether) {
  const struct {
    const char* name;
    const char* pods_cgroup;
    std::map<std::string, std::string> hard, soft;
    std::vector<Threshold> want;
  } kCases[] = {
      {"pods are limited",
       "/kubepods",
       {{"memory.available", "100Mi"}},
       {},
       {{"memory.available", "100Mi", 0s, "50Mi"},
        {"allocatableMemory.available", "100Mi", 0s, "50Mi"}}},
      {"they are not",
       "",
       {{"memory.available", "100Mi"}},
       {},
       {{"memory.available", "100Mi", 0s, "50Mi"}}},
      {"a soft one does not count for them",
       "/kubepods",
       {},
       {{"memory.available", "1Gi"}},
       {{"memory.available", "1Gi", 90s, "50Mi"}}},
      {"one of their own stands",
       "/kubepods",
       {{"memory.available", "100Mi"}, {"allocatableMemory.available", "1Gi"}},
       {},
       {{"allocatableMemory.available", "1Gi", 0s, ""}, {"memory.available", "100Mi", 0s, "50Mi"}}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    GcConfig config;
    config.pods_cgroup = c.pods_cgroup;
    config.eviction_hard = c.hard;
    config.eviction_soft = c.soft;
    config.eviction_soft_grace = {{"memory.available", 90s}};
    config.eviction_minimum_reclaim = {{"memory.available", "50Mi"}};
    EXPECT_EQ(ThresholdsOf(config), c.want);
  }
}

TEST(EvictionThresholds, AreMetStrictlyBelowTheirValue) {
  const struct {
    const char* name;
    Threshold threshold;
    PressureSignal signal;
    Counted counted;
    bool want;
  } kCases[] = {
      {"a byte too little",
       {"memory.available", "100Mi", 0s, ""},
       {"memory.available", 100 * kMi - 1, kGi},
       Counted::kValue,
       true},
      {"exactly the value",
       {"memory.available", "100Mi", 0s, ""},
       {"memory.available", 100 * kMi, kGi},
       Counted::kValue,
       false},
      {"a share of the capacity",
       {"nodefs.available", "10%", 0s, ""},
       {"nodefs.available", 99, 1000},
       Counted::kValue,
       true},
      {"exactly the share",
       {"nodefs.available", "10%", 0s, ""},
       {"nodefs.available", 100, 1000},
       Counted::kValue,
       false},
      {"0% switches it off",
       {"nodefs.available", "0%", 0s, ""},
       {"nodefs.available", 0, 1000},
       Counted::kValue,
       false},
      {"100% too",
       {"nodefs.available", "100%", 0s, ""},
       {"nodefs.available", 5, 1000},
       Counted::kValue,
       false},
      {"above the value, what is to be reclaimed is not free",
       {"memory.available", "100Mi", 0s, "50Mi"},
       {"memory.available", 149 * kMi, kGi},
       Counted::kValueAndReclaim,
       true},
      {"with it free",
       {"memory.available", "100Mi", 0s, "50Mi"},
       {"memory.available", 150 * kMi, kGi},
       Counted::kValueAndReclaim,
       false},
      {"a share to reclaim",
       {"nodefs.available", "10%", 0s, "5%"},
       {"nodefs.available", 149, 1000},
       Counted::kValueAndReclaim,
       true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(IsMet(c.threshold, c.signal, c.counted), c.want);
  }
}

class Judging : public testing::Test {
 protected:
  Judged Inspect(Duration at, int64_t memory, int64_t disk = 1000) {
    return Judge(thresholds, {{"memory.available", memory, 1000}, {"nodefs.available", disk, 1000}},
                 states, At(at));
  }
  std::vector<Threshold> thresholds;
  MetStates states;
};

TEST_F(Judging, AHardThresholdIsDueAtOnceASoftOneAfterItsGrace) {
  thresholds = {{"memory.available", "100", 0s, ""}, {"memory.available", "200", 90s, ""}};
  EXPECT_THAT(Keys(Inspect(0s, 150).due), IsEmpty());
  EXPECT_THAT(Inspect(10s, 150).met, ElementsAre("memory.available"));
  EXPECT_THAT(Keys(Inspect(89s, 150).due), IsEmpty());
  EXPECT_THAT(Keys(Inspect(90s, 150).due), ElementsAre("memory.available/soft"));
  EXPECT_THAT(Keys(Inspect(100s, 50).due),
              ElementsAre("memory.available", "memory.available/soft"));
}

TEST_F(Judging, AGraceThatIsInterruptedBeginsAnew) {
  thresholds = {{"memory.available", "200", 90s, ""}};
  Inspect(0s, 150);
  EXPECT_THAT(Inspect(89s, 200).met, IsEmpty());
  Inspect(99s, 150);
  EXPECT_THAT(Keys(Inspect(188s, 150).due), IsEmpty());
  EXPECT_THAT(Keys(Inspect(189s, 150).due), ElementsAre("memory.available/soft"));
}

TEST_F(Judging, OneThatWasActedOnEndsWithItsMinimumReclaim) {
  thresholds = {{"memory.available", "100", 0s, "50"}};
  EXPECT_THAT(Inspect(0s, 120).met, IsEmpty()) << "nothing was done about it yet";
  EXPECT_THAT(Keys(Inspect(10s, 99).due), ElementsAre("memory.available"));
  EXPECT_THAT(Keys(Inspect(20s, 149).due), ElementsAre("memory.available"));
  EXPECT_THAT(Inspect(30s, 150).met, IsEmpty());
  EXPECT_THAT(Inspect(40s, 120).met, IsEmpty());
}

TEST_F(Judging, ASoftOneInItsGraceHasNoReclaimYet) {
  thresholds = {{"memory.available", "100", 90s, "50"}};
  Inspect(0s, 99);
  EXPECT_THAT(Inspect(10s, 120).met, IsEmpty());
}

TEST_F(Judging, MemoryComesFirst) {
  thresholds = {{"nodefs.available", "100", 0s, ""}, {"memory.available", "100", 0s, ""}};
  EXPECT_THAT(Keys(Inspect(0s, 50, 50).due), ElementsAre("memory.available", "nodefs.available"));
}

TEST_F(Judging, SoDoesThatOfAllPods) {
  thresholds = {{"nodefs.available", "100", 0s, ""},
                {"allocatableMemory.available", "100", 0s, ""}};
  const auto judged =
      Judge(thresholds, {{"allocatableMemory.available", 50, 1000}, {"nodefs.available", 50, 1000}},
            states, At(0s));
  EXPECT_THAT(Keys(judged.due), ElementsAre("allocatableMemory.available", "nodefs.available"));
}

TEST_F(Judging, WhatCannotBeReadIsNotMetAndItsGraceBeginsAnew) {
  thresholds = {{"memory.available", "100", 30s, ""}};
  Inspect(0s, 50);
  EXPECT_THAT(Judge(thresholds, {}, states, At(40s)).due, IsEmpty());
  EXPECT_THAT(Keys(Inspect(50s, 50).due), IsEmpty());
  EXPECT_THAT(Keys(Inspect(80s, 50).due), ElementsAre("memory.available/soft"));
}

TEST_F(Judging, WhatIsRememberedSurvivesAsText) {
  thresholds = {{"memory.available", "100", 0s, ""}, {"nodefs.available", "100", 30s, ""}};
  Inspect(7s, 50, 50);
  EXPECT_EQ(states.size(), 2U);
  EXPECT_EQ(DecodeMetStates(EncodeMetStates(states), 1), states);
  EXPECT_TRUE(DecodeMetStates("memory.available x", 1).empty());
}

TEST(EvictionThresholds, AnyOfAllCountsWithItsReclaim) {
  const std::vector<Threshold> thresholds = {{"memory.available", "100", 30s, ""},
                                             {"nodefs.available", "100", 0s, "20"}};
  EXPECT_FALSE(
      AnyMet(thresholds, {{"memory.available", 100, 1000}, {"nodefs.available", 120, 1000}}));
  EXPECT_TRUE(
      AnyMet(thresholds, {{"memory.available", 100, 1000}, {"nodefs.available", 119, 1000}}));
  EXPECT_TRUE(
      AnyMet(thresholds, {{"memory.available", 99, 1000}, {"nodefs.available", 120, 1000}}));
}

constexpr DiskLayout kOneDisk{1, 1, 1}, kImagesApart{1, 2, 2}, kImagesAlone{1, 2, 1},
    kThreeDisks{1, 2, 3};

/// The table of docs/behaviour/eviction.md, "Disks".
TEST(EvictionDisks, WhatCanBeFreedAndWhatOfAPodCounts) {
  constexpr NodeReclaim kNothing{}, kBoth{true, true}, kDead{true, false}, kUnused{false, true};
  constexpr DiskScope kAll{}, kLayers{true, false}, kRest{false, true}, kNone{false, false};
  const struct {
    const char* signal;
    DiskLayout layout;
    NodeReclaim reclaim;
    DiskScope scope;
  } kCases[] = {
      {"memory.available", kOneDisk, kNothing, kAll},
      {"allocatableMemory.available", kImagesApart, kNothing, kAll},
      {"pid.available", kThreeDisks, kNothing, kAll},
      {"nodefs.available", kOneDisk, kBoth, kAll},
      {"nodefs.inodesFree", kOneDisk, kBoth, kAll},
      {"imagefs.available", kOneDisk, kBoth, kAll},
      {"nodefs.available", kImagesApart, kNothing, kRest},
      {"imagefs.inodesFree", kImagesApart, kBoth, kLayers},
      {"nodefs.inodesFree", kImagesAlone, kDead, kAll},
      {"imagefs.available", kImagesAlone, kUnused, kNone},
      {"containerfs.available", kImagesAlone, kDead, kAll},
      {"nodefs.available", kThreeDisks, kNothing, kRest},
      {"imagefs.inodesFree", kThreeDisks, kUnused, kNone},
      {"containerfs.inodesFree", kThreeDisks, kDead, kLayers},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(
        fmt::format("{} {} {} {}", c.signal, c.layout.pods, c.layout.images, c.layout.containers));
    EXPECT_EQ(ReclaimFor(c.signal, c.layout), c.reclaim);
    EXPECT_EQ(ScopeOfSignal(c.signal, c.layout), c.scope);
  }
  EXPECT_TRUE(kOneDisk.one());
  for (const auto& layout : {kImagesApart, kImagesAlone, kThreeDisks, DiskLayout{1, 1, 2}})
    EXPECT_FALSE(layout.one());
}

TEST(EvictionThresholds, EverySignalHasAResource) {
  EXPECT_EQ(NameOf(*StarvedBy("memory.available")), "memory");
  EXPECT_EQ(NameOf(*StarvedBy("allocatableMemory.available")), "memory");
  EXPECT_EQ(NameOf(*StarvedBy("nodefs.available")), "ephemeral-storage");
  EXPECT_EQ(NameOf(*StarvedBy("imagefs.available")), "ephemeral-storage");
  EXPECT_EQ(NameOf(*StarvedBy("nodefs.inodesFree")), "inodes");
  EXPECT_EQ(NameOf(*StarvedBy("imagefs.inodesFree")), "inodes");
  EXPECT_EQ(NameOf(*StarvedBy("containerfs.available")), "ephemeral-storage");
  EXPECT_EQ(NameOf(*StarvedBy("containerfs.inodesFree")), "inodes");
  EXPECT_EQ(NameOf(*StarvedBy("pid.available")), "pids");
  EXPECT_EQ(StarvedBy("moon.available"), std::nullopt);
}

// --- Ranking.

struct PodSpec {
  std::string uid;
  int32_t priority = 0;
  std::string memory, storage;  // requests
  PodUsage usage = {};
};

Candidate Make(const PodSpec& spec) {
  auto pod = std::make_shared<kube::Pod>();
  pod->mutable_metadata()->set_uid(spec.uid);
  pod->mutable_spec()->set_priority(spec.priority);
  auto& container = *pod->mutable_spec()->add_containers();
  container.set_name("app");
  auto& requests = *container.mutable_resources()->mutable_requests();
  if (!spec.memory.empty()) requests["memory"].set_string(spec.memory);
  if (!spec.storage.empty()) requests["ephemeral-storage"].set_string(spec.storage);
  return {spec.uid, 1, pod, spec.usage};
}

PodUsage Memory(int64_t bytes) {
  PodUsage usage;
  usage.has_memory = true;
  usage.containers["app"].memory_bytes = bytes;
  return usage;
}

/// The pod's cgroup also counts memory that no running container uses.
PodUsage PodMemory(int64_t pod, int64_t container) {
  PodUsage usage = Memory(container);
  usage.cgroup_memory_bytes = pod;
  return usage;
}

/// A tree with more entries than the limit.
PodUsage TooLarge() {
  PodUsage usage = Disk(0, 0, kMi);
  usage.volumes.inodes = 1;
  usage.volumes.more = true;
  return usage;
}

PodUsage Inodes(int64_t count) {
  PodUsage usage;
  usage.has_disk = true;
  usage.volumes.inodes = count;
  return usage;
}

PodUsage Processes(int64_t count) {
  PodUsage usage;
  usage.processes = count;
  return usage;
}

struct RankingCase {
  const char* name;
  const char* signal;
  DiskLayout layout;
  std::vector<PodSpec> pods;
  std::vector<std::string> want;
};

void ExpectOrder(const RankingCase& c) {
  SCOPED_TRACE(c.name);
  std::vector<Candidate> candidates;
  for (const auto& pod : c.pods) candidates.push_back(Make(pod));
  Rank(*StarvedBy(c.signal), ScopeOfSignal(c.signal, c.layout), candidates);
  std::vector<std::string> order;
  for (const auto& candidate : candidates) order.push_back(candidate.uid);
  EXPECT_EQ(order, c.want);
}

TEST(EvictionRanking, WhoGoesFirst) {
  const RankingCase kCases[] = {
      {"both above their request: the lower priority, though it exceeds less",
       "memory.available",
       kOneDisk,
       {{.uid = "high", .priority = 100, .usage = Memory(5 * kGi)},
        {.uid = "low", .priority = 0, .usage = Memory(kMi)}},
       {"low", "high"}},
      {"above its request before below, whatever is used",
       "memory.available",
       kOneDisk,
       {{.uid = "big", .memory = "12Gi", .usage = Memory(10 * kGi)},
        {.uid = "small", .memory = "512Mi", .usage = Memory(kGi)}},
       {"small", "big"}},
      {"exactly its request is not above it",
       "memory.available",
       kOneDisk,
       {{.uid = "equal", .memory = "1Gi", .usage = Memory(kGi)},
        {.uid = "above", .priority = 100, .memory = "1Gi", .usage = Memory(kGi + 1)}},
       {"above", "equal"}},
      {"of one priority, what exceeds more",
       "memory.available",
       kOneDisk,
       {{.uid = "a", .memory = "2Gi", .usage = Memory(3 * kGi)},
        {.uid = "b", .memory = "1Gi", .usage = Memory(3 * kGi)}},
       {"b", "a"}},
      {"what the pod uses, not its containers that run",
       "memory.available",
       kOneDisk,
       {{.uid = "containers", .usage = Memory(3 * kGi)},
        {.uid = "less", .usage = PodMemory(kGi, 4 * kGi)},
        {.uid = "pod", .usage = PodMemory(5 * kGi, kMi)}},
       {"pod", "containers", "less"}},
      {"one without stats goes first",
       "memory.available",
       kOneDisk,
       {{.uid = "a", .usage = Memory(3 * kGi)}, {.uid = "new", .priority = 100}},
       {"new", "a"}},
      {"negative priorities",
       "memory.available",
       kOneDisk,
       {{.uid = "zero", .usage = Memory(3 * kGi)},
        {.uid = "less", .priority = -5, .usage = Memory(1)}},
       {"less", "zero"}},
  };
  for (const auto& c : kCases) ExpectOrder(c);
}

TEST(EvictionRanking, WhoGoesFirstForDiskAndProcessIds) {
  const RankingCase kCases[] = {
      {"disk: above its request first, then priority, then amount",
       "nodefs.available",
       kOneDisk,
       {{.uid = "within", .priority = -1, .storage = "1Gi", .usage = Disk(kMi, kMi, kMi)},
        {.uid = "dear", .priority = 5, .usage = Disk(kGi, kGi, kGi)},
        {.uid = "more", .usage = Disk(0, 0, 5 * kMi)},
        {.uid = "less", .usage = Disk(kMi, kMi, kMi)}},
       {"more", "less", "dear", "within"}},
      {"images on a disk of their own: layers do not count for the node's",
       "nodefs.available",
       kImagesApart,
       {{.uid = "layers", .usage = Disk(5 * kGi, 1, 1)}, {.uid = "logs", .usage = Disk(0, 5, 5)}},
       {"logs", "layers"}},
      {"and nothing else counts for theirs",
       "imagefs.available",
       kImagesApart,
       {{.uid = "logs", .usage = Disk(1, 5 * kGi, 5)}, {.uid = "layers", .usage = Disk(2, 0, 0)}},
       {"layers", "logs"}},
      {"images alone on theirs are no pod's: by priority",
       "imagefs.available",
       kImagesAlone,
       {{.uid = "much", .priority = 1, .usage = Disk(kGi, kGi, kGi)},
        {.uid = "less", .usage = Disk(kMi, kMi, kMi)}},
       {"less", "much"}},
      {"disk: a tree too large to be counted is above its request, and the most",
       "nodefs.available",
       kOneDisk,
       {{.uid = "much", .usage = Disk(0, 0, 5 * kGi)},
        {.uid = "too-much", .storage = "1Gi", .usage = TooLarge()}},
       {"too-much", "much"}},
      {"inodes: likewise, whatever it requests",
       "nodefs.inodesFree",
       kOneDisk,
       {{.uid = "many", .usage = Inodes(4'000'000)},
        {.uid = "too-many", .storage = "1Gi", .usage = TooLarge()}},
       {"too-many", "many"}},
      {"inodes: any at all, then priority, then count",
       "nodefs.inodesFree",
       kOneDisk,
       {{.uid = "none", .priority = -1, .usage = Inodes(0)},
        {.uid = "few", .usage = Inodes(3)},
        {.uid = "many", .usage = Inodes(9)},
        {.uid = "unknown", .priority = 9}},
       {"unknown", "many", "few", "none"}},
      {"inodes: a request of storage shields",
       "nodefs.inodesFree",
       kOneDisk,
       {{.uid = "asks", .storage = "1Gi", .usage = Inodes(100'000)},
        {.uid = "asks-not", .usage = Inodes(2)}},
       {"asks-not", "asks"}},
      {"process ids: priority before everything",
       "pid.available",
       kOneDisk,
       {{.uid = "high", .priority = 1, .usage = Processes(900)},
        {.uid = "few", .usage = Processes(2)},
        {.uid = "many", .usage = Processes(50)},
        {.uid = "unknown"}},
       {"unknown", "many", "few", "high"}},
  };
  for (const auto& c : kCases) ExpectOrder(c);
}

TEST(EvictionRanking, WhoIsSpared) {
  const struct {
    const char* name;
    const char* source;
    int32_t priority;
    const char* priority_class;
    bool mirror, goes, goes_if_static_pods_may;
  } kCases[] = {
      {"a pod of the API server", "api", 0, "", false, true, true},
      {"a little below critical", "api", 1'999'999'999, "", false, true, true},
      {"a critical one", "api", 2'000'000'000, "", false, false, false},
      {"a static one", "file", 0, "", false, false, true},
      {"a static one of another source", "http", 0, "", false, false, true},
      {"a critical static one", "file", 2'000'001'000, "", false, false, false},
      {"a static one of a critical class without number", "file", 0, "system-node-critical", false,
       false, false},
      {"a mirror", "api", 0, "", true, false, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod;
    auto& annotations = *pod.mutable_metadata()->mutable_annotations();
    annotations[std::string(kube::kConfigSource)] = c.source;
    if (c.mirror) annotations[std::string(kube::kConfigMirror)] = "x";
    pod.mutable_spec()->set_priority(c.priority);
    pod.mutable_spec()->set_priority_class_name(c.priority_class);
    EXPECT_EQ(MayBeEvicted(pod, false), c.goes);
    EXPECT_EQ(MayBeEvicted(pod, true), c.goes_if_static_pods_may);
  }
}

TEST(EvictionGrace, HardIsASecondSoftIsTheLesser) {
  const struct {
    const char* name;
    std::optional<int64_t> pods;
    bool hard;
    int64_t most, want;
  } kCases[] = {
      {"hard", 30, true, 60, 1},
      {"soft, the node's", 90, false, 60, 60},
      {"soft, the pod's", 30, false, 60, 30},
      {"soft, the pod has none", std::nullopt, false, 60, 60},
      {"nothing is never sent", 30, false, 0, 1},
      {"nor anything below", 30, false, -5, 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod;
    if (c.pods) pod.mutable_spec()->set_termination_grace_period_seconds(*c.pods);
    EXPECT_EQ(GraceSeconds(pod, c.hard, c.most), c.want);
  }
}

// --- Messages.

TEST(EvictionMessage, NamesThresholdAndContainersAboveTheirRequest) {
  Candidate victim = Make({.uid = "u", .memory = "64Mi", .usage = Memory(100 * kMi)});
  const PressureSignal signal{"memory.available", 90 * kMi, 4 * kGi};
  EXPECT_EQ(EvictionMessage({"memory.available", "100Mi", 0s, ""}, &signal, victim),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. "
            "Container app was using 100Mi, request is 64Mi, has larger consumption of memory. ");
  victim.usage = Memory(64 * kMi);
  EXPECT_EQ(EvictionMessage({"memory.available", "100Mi", 0s, ""}, &signal, victim),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. ");
  EXPECT_EQ(EvictionMessage({"memory.available", "100Mi", 0s, ""}, nullptr, victim),
            "The node was low on resource: memory. ");
}

TEST(EvictionMessage, APodWithResourcesOfItsOwnIsNamedToo) {
  const struct {
    const char* name;
    PodUsage usage;
    const char *request, *limit;  // of the pod as a whole
    Threshold threshold;
    const char* want;
  } kCases[] = {
      {"above its request",
       Memory(100 * kMi),
       "90Mi",
       nullptr,
       {"memory.available", "100Mi", 0s, ""},
       "The node was low on resource: memory. Pod web was using 100Mi, request is 90Mi, has larger "
       "consumption of memory. Container app was using 100Mi, request is 64Mi, has larger "
       "consumption of memory. "},
      {"within it, though not its container",
       Memory(100 * kMi),
       "1Gi",
       nullptr,
       {"memory.available", "100Mi", 0s, ""},
       "The node was low on resource: memory. Container app was using 100Mi, request is 64Mi, has "
       "larger consumption of memory. "},
      {"with what no container uses",
       PodMemory(200 * kMi, 10 * kMi),
       "90Mi",
       nullptr,
       {"memory.available", "100Mi", 0s, ""},
       "The node was low on resource: memory. Pod web was using 200Mi, request is 90Mi, has larger "
       "consumption of memory. "},
      {"it requests no storage, whatever its container does",
       Disk(0, kMi, 7 * kMi),
       nullptr,
       "1Gi",
       {"nodefs.available", "10%", 0s, ""},
       "The node was low on resource: ephemeral-storage. Pod web was using 8Mi, request is 0, has "
       "larger consumption of ephemeral-storage. "},
      {"process ids belong to no container",
       Processes(5),
       "90Mi",
       nullptr,
       {"pid.available", "100", 0s, ""},
       "The node was low on resource: pids. "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Candidate made = Make({.uid = "u", .memory = "64Mi", .storage = "1Gi", .usage = c.usage});
    auto pod = std::make_shared<kube::Pod>(*made.pod);
    pod->mutable_metadata()->set_name("web");
    auto& resources = *pod->mutable_spec()->mutable_resources();
    if (c.request != nullptr) (*resources.mutable_requests())["memory"].set_string(c.request);
    if (c.limit != nullptr) (*resources.mutable_limits())["memory"].set_string(c.limit);
    EXPECT_EQ(EvictionMessage(c.threshold, nullptr, {"u", 1, pod, c.usage}), c.want);
  }
}

TEST(EvictionMessage, ProgramsReadItInAnnotations) {
  const Threshold memory{"memory.available", "100Mi", 0s, ""};
  Candidate victim = Make({.uid = "u", .memory = "64Mi", .usage = Memory(100 * kMi)});
  auto pod = std::make_shared<kube::Pod>(*victim.pod);
  pod->mutable_metadata()->set_name("web");
  (*pod->mutable_spec()->mutable_resources()->mutable_requests())["memory"].set_string("90Mi");
  victim.pod = pod;
  EXPECT_THAT(EvictionAnnotations(memory, victim),
              IsSupersetOf({Pair("offending_pod", "web"), Pair("offending_pod_usage", "100Mi")}));
  EXPECT_EQ(EvictionAnnotations({"pid.available", "100", 0s, ""}, victim)["offending_containers"],
            "");
}

TEST(EvictionRanking, OfAPodWithResourcesOfItsOwnNoRequestOfStorageCounts) {
  Candidate own = Make({.uid = "own", .storage = "1Gi", .usage = Disk(0, 0, kMi)});
  auto pod = std::make_shared<kube::Pod>(*own.pod);
  (*pod->mutable_spec()->mutable_resources()->mutable_limits())["memory"].set_string("1Gi");
  own.pod = pod;
  std::vector<Candidate> candidates{
      Make({.uid = "within", .storage = "1Gi", .usage = Disk(0, 0, 5 * kMi)}), own};
  Rank(Starved::kStorage, {}, candidates);
  EXPECT_EQ(candidates.front().uid, "own");
}

TEST(EvictionMessage, OfStorageCountsLayerAndLogs) {
  const Candidate victim = Make({.uid = "u", .usage = Disk(3 * kMi, kMi, 7 * kGi)});
  const PressureSignal signal{"nodefs.available", 50, 1000};
  EXPECT_EQ(EvictionMessage({"nodefs.available", "10%", 0s, ""}, &signal, victim),
            "The node was low on resource: ephemeral-storage. Threshold quantity: 100, available: "
            "50. Container app was using 4Mi, request is 0, has larger consumption of "
            "ephemeral-storage. ");
}

TEST(EvictionMessage, OfInodesAndProcessIdsNamesNoContainer) {
  const Candidate victim = Make({.uid = "u", .usage = Processes(5)});
  const PressureSignal signal{"pid.available", 50, 1000};
  EXPECT_EQ(EvictionMessage({"pid.available", "100", 0s, ""}, &signal, victim),
            "The node was low on resource: pids. Threshold quantity: 100, available: 50. ");
}

}  // namespace
}  // namespace splitlet::gc
