#include "services/config-source/desired/merge.h"

#include <gtest/gtest.h>

#include <functional>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"
#include "services/config-source/desired/incarnation.h"

namespace splitlet::config_source {
namespace {

const WallTime kNow = WallFromNanos(1'700'000'000'123'456'789);

kube::Pod Web() {
  kube::Pod pod;
  pod.mutable_metadata()->set_name("web");
  pod.mutable_metadata()->set_namespace_("default");
  pod.mutable_metadata()->set_uid("u1");
  (*pod.mutable_metadata()->mutable_labels())["app"] = "web";
  auto& container = *pod.mutable_spec()->add_containers();
  container.set_name("app");
  container.set_image("nginx:1");
  (*container.mutable_resources()->mutable_limits())["cpu"].set_string("1");
  return pod;
}

SourcePodRef MakeSourcePod(const kube::Pod& pod) {
  const auto& meta = pod.metadata();
  return std::make_shared<const SourcePod>(
      SourcePod{meta.uid(), meta.name(), meta.namespace_(), "/m/" + meta.name() + ".yaml",
                std::make_shared<const std::string>(kube::SerializeStable(pod))});
}

SourcePodRef Named(const std::string& uid, const std::string& name) {
  kube::Pod pod = Web();
  pod.mutable_metadata()->set_uid(uid);
  pod.mutable_metadata()->set_name(name);
  return MakeSourcePod(pod);
}

DesiredPod Known(const SourcePodRef& pod, const std::string& source, bool removed = false) {
  return {.name = pod->name,
          .name_space = pod->name_space,
          .source = source,
          .state = removed ? PodState::kRemoved : PodState::kWanted,
          .incarnation = 1,
          .generation = 1,
          .pod = StampPod(*pod->bytes, nullptr, source, kNow),
          .baseline = pod->bytes};
}

SourceSet SetOf(const std::vector<SourcePodRef>& pods) {
  SourceSet set;
  for (const auto& pod : pods) set.pods.push_back({pod, {}});
  return set;
}

/// "ADD u1, REMOVE u2".
std::string Show(const MergeResult& result) {
  std::string text;
  for (const auto& change : result.changes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", OperationName(change.operation),
                        change.uid);
  return text;
}

TEST(Merge, ASetIsComparedWithWhatIsKnown) {
  const auto a = Named("ua", "a"), b = Named("ub", "b"), c = Named("uc", "c");
  const struct {
    const char* name;
    DesiredPods known;
    std::vector<SourcePodRef> set;
    const char* want;
  } cases[] = {
      {"new pods are added in the order of the set", {}, {b, a}, "ADD ub, ADD ua"},
      {"a pod that is as it was is no change", {{"ua", Known(a, "file")}}, {a}, ""},
      {"a pod that is not in the set any more is removed",
       {{"ua", Known(a, "file")}},
       {},
       "REMOVE ua"},
      {"removals come first, so that a name is free again",
       {{"ua", Known(a, "file")}},
       {Named("ux", "a")},
       "REMOVE ua, ADD ux"},
      {"pods of another source are left alone", {{"ua", Known(a, "http")}}, {b}, "ADD ub"},
      {"a pod that comes back before its end is added again",
       {{"ua", Known(a, "file", true)}},
       {a},
       "ADD ua"},
      {"a removed pod is not removed twice", {{"ua", Known(a, "file", true)}}, {}, ""},
      {"a removed pod of another source may be taken over",
       {{"ua", Known(a, "http", true)}},
       {a},
       "ADD ua"},
  };
  for (const auto& c_ : cases) {
    SCOPED_TRACE(c_.name);
    EXPECT_EQ(Show(ComputeMerge(c_.known, "file", SetOf(c_.set))), c_.want);
  }
}

TEST(Merge, AMirrorPodIsOneFromItsFirstSightToItsLast) {
  SourcePod mirror = *Named("um", "web");
  mirror.mirror = true;
  const auto seen = std::make_shared<const SourcePod>(mirror);
  EXPECT_EQ(Show(ComputeMerge({}, "api", SetOf({seen}))), "ADD um");
  DesiredPod known = Known(seen, "api");
  known.state = PodState::kMirror;
  EXPECT_EQ(Show(ComputeMerge({{"um", known}}, "api", SetOf({seen}))), "");
  EXPECT_EQ(Show(ComputeMerge({{"um", known}}, "api", SetOf({}))), "REMOVE um");
  EXPECT_EQ(Show(ComputeMerge({{"um", known}}, "api", SetOf({Named("um", "other")}))), "")
      << "as an ordinary pod it would be started";
  EXPECT_EQ(Show(ComputeMerge({{"us", Known(Named("us", "web"), "file")}}, "api", SetOf({seen}))),
            "ADD um")
      << "beside its static pod, which has its full name";
}

/// A status that another client has reverted would pass for the stored one.
TEST(Merge, ALaterVersionOfTheSamePodIsReconciled) {
  const auto of_version = [](const std::string& version) {
    kube::Pod pod = Web();
    pod.mutable_status()->set_phase("Running");
    pod.mutable_metadata()->set_resource_version(version);
    return MakeSourcePod(pod);
  };
  const struct {
    const char* name;
    std::string source, version;
    bool unconfirmed;
    const char* want;
  } cases[] = {
      {"a later one", "api", "8", false, "RECONCILE u1"},
      {"the same, remembered otherwise", "api", "7", false, ""},
      {"an earlier one", "api", "6", false, ""},
      {"of more digits", "api", "10", false, "RECONCILE u1"},
      {"none", "api", "", false, ""},
      {"of a file it means nothing", "file", "8", false, ""},
      {"an unconfirmed pod stays unconfirmed", "api", "8", true, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    DesiredPod known = Known(of_version("7"), c.source);
    known.baseline = nullptr;
    SourceSet set;
    set.pods.push_back({.pod = of_version(c.version), .unconfirmed = c.unconfirmed});
    EXPECT_EQ(Show(ComputeMerge({{"u1", known}}, c.source, set)), c.want);
  }
}

TEST(Merge, UndecidedPodsStay) {
  const auto a = Named("ua", "a"), b = Named("ub", "b");
  SourceSet set;
  set.undecided = {"ua"};
  EXPECT_EQ(Show(ComputeMerge({{"ua", Known(a, "file")}, {"ub", Known(b, "file")}}, "file", set)),
            "REMOVE ub");
}

TEST(Merge, OfTwoPodsWithOneNameTheFirstOfTheSetRuns) {
  const auto result = ComputeMerge({}, "http", SetOf({Named("u1", "a"), Named("u2", "a")}));
  EXPECT_EQ(Show(result), "ADD u1");
  ASSERT_EQ(result.ignored.size(), 1u);
  EXPECT_EQ(result.ignored[0].pod->uid, "u2");
  EXPECT_TRUE(result.ignored[0].duplicate_name);
  EXPECT_EQ(result.ignored[0].reason, "due to duplicate pod name \"a\", ignoring");
}

TEST(Merge, AUidStaysWithTheSourceThatHasIt) {
  const auto a = Named("ua", "a");
  const auto result = ComputeMerge({{"ua", Known(a, "file")}}, "http", SetOf({a}));
  EXPECT_EQ(Show(result), "");
  ASSERT_EQ(result.ignored.size(), 1u);
  EXPECT_FALSE(result.ignored[0].duplicate_name);
}

TEST(Merge, AfterARestartTheRememberedPodIsComparedByMeaning) {
  const auto a = Named("ua", "a");
  DesiredPod known = Known(a, "file");
  known.baseline = nullptr;
  EXPECT_EQ(Show(ComputeMerge({{"ua", known}}, "file", SetOf({a}))), "");
}

TEST(Classify, EveryKindOfChange) {
  using Edit = std::function<void(kube::Pod&)>;
  const auto delete_now = [](kube::Pod& p) {
    p.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(100);
    p.mutable_metadata()->set_deletion_grace_period_seconds(30);
  };
  const auto annotate = [](const char* key) {
    return [key](kube::Pod& p) { (*p.mutable_metadata()->mutable_annotations())[key] = "x"; };
  };
  const Edit nothing = [](kube::Pod&) {};
  const struct {
    const char* name;
    Edit before, after;
    std::optional<Operation> want;
  } cases[] = {
      {"nothing", nothing, nothing, std::nullopt},
      {"an image", nothing,
       [](kube::Pod& p) { p.mutable_spec()->mutable_containers(0)->set_image("nginx:2"); },
       Operation::kUpdate},
      {"a label", nothing,
       [](kube::Pod& p) { (*p.mutable_metadata()->mutable_labels())["app"] = "x"; },
       Operation::kUpdate},
      {"an annotation more", nothing, annotate("team"), Operation::kUpdate},
      {"an annotation less", annotate("team"), nothing, Operation::kUpdate},
      {"config.hash counts", nothing, annotate("kubernetes.io/config.hash"), Operation::kUpdate},
      {"config.source does not", nothing, annotate("kubernetes.io/config.source"), std::nullopt},
      {"config.seen does not", annotate("kubernetes.io/config.seen"), nothing, std::nullopt},
      {"config.mirror does not", nothing, annotate("kubernetes.io/config.mirror"), std::nullopt},
      {"only the status", nothing, [](kube::Pod& p) { p.mutable_status()->set_phase("Running"); },
       Operation::kReconcile},
      {"resourceVersion and finalizers are not noticed", nothing,
       [](kube::Pod& p) {
         p.mutable_metadata()->set_resource_version("7");
         p.mutable_metadata()->add_finalizers("a/b");
         p.mutable_metadata()->set_generation(3);
       },
       std::nullopt},
      {"a deletion begins", nothing, delete_now, Operation::kDelete},
      {"a deletion goes on", delete_now, delete_now, std::nullopt},
      {"a grace period is shortened", delete_now,
       [&](kube::Pod& p) {
         delete_now(p);
         p.mutable_metadata()->set_deletion_grace_period_seconds(5);
       },
       Operation::kDelete},
      {"the same quantity in another form", nothing,
       [](kube::Pod& p) {
         (*p.mutable_spec()->mutable_containers(0)->mutable_resources()->mutable_limits())["cpu"]
             .set_string("1000m");
       },
       std::nullopt},
      {"another quantity", nothing,
       [](kube::Pod& p) {
         (*p.mutable_spec()->mutable_containers(0)->mutable_resources()->mutable_limits())["cpu"]
             .set_string("1001m");
       },
       Operation::kUpdate},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    kube::Pod before = Web(), after = Web();
    c.before(before);
    c.after(after);
    EXPECT_EQ(Classify(before, after), c.want);
  }
}

TEST(StampPod, ANewPodGetsSourceAndTime) {
  kube::Pod wanted = Web(), out;
  (*wanted.mutable_metadata()->mutable_annotations())["kubernetes.io/config.seen"] = "forged";
  (*wanted.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "forged";
  ASSERT_TRUE(out.ParseFromString(*StampPod(kube::SerializeStable(wanted), nullptr, "file", kNow)));
  EXPECT_EQ(kube::SourceOf(out), "file");
  EXPECT_EQ(kube::AnnotationOf(out, kube::kConfigSeen), FormatSeen(kNow));
}

TEST(StampPod, AnUpdateKeepsTheTimeOfTheFirst) {
  const auto first = StampPod(kube::SerializeStable(Web()), nullptr, "file", kNow);
  kube::Pod changed = Web(), out;
  changed.mutable_spec()->mutable_containers(0)->set_image("nginx:2");
  ASSERT_TRUE(out.ParseFromString(
      *StampPod(kube::SerializeStable(changed), first.get(), "file", kNow + 1h)));
  EXPECT_EQ(kube::AnnotationOf(out, kube::kConfigSeen), FormatSeen(kNow));
  EXPECT_EQ(out.spec().containers(0).image(), "nginx:2");
}

/// With an older version, a status of another client would pass for an earlier answer.
TEST(WithStatus, TakesTheStatusAndItsVersionAndNothingElse) {
  kube::Pod wanted = Web(), out;
  wanted.mutable_status()->set_phase("Running");
  wanted.mutable_metadata()->set_resource_version("7");
  wanted.mutable_metadata()->set_generation(7);
  const auto stored = StampPod(kube::SerializeStable(Web()), nullptr, "api", kNow);
  ASSERT_TRUE(out.ParseFromString(*WithStatus(*stored, kube::SerializeStable(wanted))));
  EXPECT_EQ(out.status().phase(), "Running");
  EXPECT_EQ(out.metadata().resource_version(), "7");
  EXPECT_EQ(out.metadata().generation(), 0);
  EXPECT_EQ(kube::AnnotationOf(out, kube::kConfigSeen), FormatSeen(kNow));
  kube::Pod before;
  ASSERT_TRUE(before.ParseFromString(*stored));
  EXPECT_EQ(Classify(before, wanted), Operation::kReconcile);
  EXPECT_EQ(Classify(out, wanted), std::nullopt);
}

TEST(FormatSeen, HasNineDigitsAndAZone) {
  const std::string text = FormatSeen(WallFromNanos(1'700'000'000'000'000'006));
  EXPECT_NE(text.find(".000000006"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("Z") || text[text.size() - 3] == ':') << text;
}

TEST(NextNumber, GrowsEvenWhenTheWallClockDoesNot) {
  EXPECT_EQ(NextNumber(0, kNow), 1'700'000'000'123);
  EXPECT_EQ(NextNumber(1'700'000'000'123, kNow), 1'700'000'000'124);
  EXPECT_EQ(NextNumber(1'800'000'000'000, kNow), 1'800'000'000'001);
}

TEST(ChooseLife, EveryMemory) {
  const int64_t now = 1'700'000'000'123, late = now + 1000;
  const DesiredPod known{.state = PodState::kRemoved, .incarnation = late, .generation = late + 5};
  const WorkerIncarnation working{.incarnation = 7, .generation = 9};
  const WorkerIncarnation ended{
      .incarnation = late, .generation = late, .finished = true, .end = WorkerEnd::kRemoved};
  const WorkerIncarnation done{.incarnation = 7, .generation = 9, .finished = true};
  const struct {
    const char* name;
    const DesiredPod* known;
    const WorkerIncarnation* worker;
    Incarnation want;
    int64_t after = 0;
  } cases[] = {
      {"nothing is known", nullptr, nullptr, {now, now}},
      {"it comes after another pod of its place", nullptr, nullptr, {late + 1, now}, late},
      {"what goes on has come already", nullptr, &working, {7, now}, late},
      {"a new incarnation is later than the last one", &known, nullptr, {late + 1, late + 6}},
      {"what a worker works on goes on", nullptr, &working, {7, now}},
      {"a removed pod of a worker begins a new incarnation", nullptr, &ended, {late + 1, late + 1}},
      {"a pod that ended by itself does not begin again", nullptr, &done, {7, now}},
      {"a removed pod with a record begins a new incarnation",
       &known,
       &working,
       {late + 1, late + 6}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Incarnation numbers = ChooseIncarnation(c.known, c.worker, kNow, c.after);
    EXPECT_EQ(numbers.incarnation, c.want.incarnation);
    EXPECT_EQ(numbers.generation, c.want.generation);
  }
}

TEST(IsOver, OnceItsWorkerHasFinished) {
  const DesiredPod removed{.state = PodState::kRemoved, .incarnation = 5, .generation = 6};
  EXPECT_TRUE(IsOver(removed, {.incarnation = 5, .finished = true}));
  EXPECT_FALSE(IsOver(removed, {.incarnation = 5, .end = WorkerEnd::kRemoved})) << "it still ends";
  EXPECT_FALSE(IsOver(removed, {.incarnation = 4, .finished = true})) << "an earlier incarnation";
  EXPECT_TRUE(IsOver(removed, {.incarnation = 6})) << "pod-worker ends earlier ones first";
}

TEST(CatchUp, OnlyWithALaterLife) {
  const DesiredPod wanted{.incarnation = 5, .generation = 6};
  const DesiredPod removed{.state = PodState::kRemoved, .incarnation = 5, .generation = 6};
  EXPECT_FALSE(CatchUp(
      wanted, {.incarnation = 5, .generation = 9, .finished = true, .end = WorkerEnd::kRemoved},
      kNow));
  EXPECT_FALSE(CatchUp(removed, {.incarnation = 9, .generation = 9}, kNow));
  const auto adopted = CatchUp(wanted, {.incarnation = 9, .generation = 9}, kNow);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->incarnation, 9);
  EXPECT_GT(adopted->generation, 9);
  const auto next =
      CatchUp(wanted, {.incarnation = 9, .generation = 9, .end = WorkerEnd::kRemoved}, kNow);
  ASSERT_TRUE(next);
  EXPECT_GT(next->incarnation, 9);
}

TEST(CatchUp, WhatWentWithTheNodeLivesAgain) {
  const DesiredPod wanted{.incarnation = 5, .generation = 6};
  const DesiredPod removed{.state = PodState::kRemoved, .incarnation = 5, .generation = 6};
  const WorkerIncarnation over{
      .incarnation = 5, .generation = 9, .finished = true, .end = WorkerEnd::kShutdown};
  const auto next = CatchUp(wanted, over, kNow);
  ASSERT_TRUE(next);
  EXPECT_GT(next->incarnation, 5);
  EXPECT_GT(next->generation, 9);
  EXPECT_FALSE(CatchUp(removed, over, kNow));
  EXPECT_FALSE(CatchUp({.incarnation = next->incarnation}, over, kNow)) << "once";
}

}  // namespace
}  // namespace splitlet::config_source
