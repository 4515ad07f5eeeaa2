#include <fmt/ranges.h>

#include <set>

#include "libs/base/trace.h"
#include "services/config-source/config_source_fixture.h"

namespace splitlet::config_source {
namespace {

class ConfigSource : public testing::Test, public TestNode {};

TEST_F(ConfigSource, AManifestBecomesADesiredPod) {
  const auto record = StartWithWeb();
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->state(), v1::DesiredRecord::WANTED);
  EXPECT_EQ(record->source(), "file");
  EXPECT_EQ(record->origin(), "/m/web.yaml");
  EXPECT_GT(record->incarnation(), 0);
  EXPECT_GT(record->generation(), 0);
  const kube::Pod pod = PodOf("web");
  EXPECT_EQ(pod.metadata().name(), "web-node-a");
  EXPECT_EQ(pod.metadata().uid(), record->uid());
  EXPECT_EQ(pod.spec().node_name(), "node-a");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigHash), record->uid());
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigSource), "file");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigSeen),
            FormatSeen(WallFromNanos(record->seen_at_wall_ns())));
  EXPECT_TRUE(Complete("file"));
  EXPECT_TRUE(Complete(std::string(bus::kAll)));
  // A source that is not configured is not listed.
  EXPECT_EQ(desired.completeness().scopes, (std::set<std::string>{"file", std::string(bus::kAll)}));
  EXPECT_TRUE(process->service->GetHealth().ready);
}

TEST_F(ConfigSource, AMissingDirectoryIsCompleteAndEmptyAndIsFoundLater) {
  config.static_pod_path = "/later";
  StartAndRead();
  EXPECT_TRUE(Complete("file"));
  EXPECT_EQ(Show(), "");
  process->watcher->Mute(true);
  Write("/later/web.yaml", Manifest("web"));
  RunFor(20s);
  EXPECT_EQ(Show(), "web");
}

TEST_F(ConfigSource, HiddenFilesAndDirectoriesAreSkipped) {
  Write("/m/a.yaml", Manifest("a"));
  Write("/m/.b.yaml", Manifest("b"));
  Write("/m/c/c.yaml", Manifest("c"));
  StartAndRead();
  EXPECT_EQ(Show(), "a");
  EXPECT_EQ(LogLines("not a manifest, skipped").size(), 1u);
}

TEST_F(ConfigSource, ASingleFileIsASourceToo) {
  config.static_pod_path = "/etc/web.yaml";
  Write("/etc/web.yaml", "kind: nonsense");
  StartAndRead();
  EXPECT_FALSE(Complete("file"));
  Write("/etc/web.yaml", Manifest("web"));
  RunFor(1s);
  EXPECT_EQ(Show(), "web");
  EXPECT_TRUE(Complete("file"));
  Write("/etc/web.yaml", "broken: [");
  RunFor(60s);
  EXPECT_EQ(Show(), "web!");
}

TEST_F(ConfigSource, ABrokenManifestAmongGoodOnesHarmsNoOther) {
  const struct {
    const char* name;
    std::string text;
    const char* reason;
  } cases[] = {
      {"not YAML", "a: [b", "couldn't parse as pod("},
      {"empty", "", "expected an object, found 'null'"},
      {"another kind", "apiVersion: apps/v1\nkind: Deployment\n", "no kind \"Deployment\""},
      {"a list", "apiVersion: v1\nkind: PodList\nitems: []\n", "couldn't parse as pod("},
      {"no name", "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: b}]}\n",
       "name is needed for the pod"},
      {"two containers of one name",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n"
       "  - {name: a, image: b}\n  - {name: a, image: b}\n",
       "spec.containers[1].name: Duplicate value"},
      {"a bad quantity",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n"
       "  - {name: a, image: b, resources: {limits: {cpu: much}}}\n",
       "spec.containers[0].resources.limits"},
      {"20 MB", std::string(20 << 20, 'x'), "the read limit is reached"},
      {"binary",
       std::string("\x7f"
                   "ELF\x00\x01\xff",
                   7),
       "couldn't parse as pod("},
      {"a UID that is no file name", Manifest("x", "nginx", "../../etc"), "metadata.uid"},
      {"a reference to a secret",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n"
       "  - {name: a, image: b, envFrom: [{secretRef: {name: s}}]}\n",
       "static pods may not reference secrets"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.Write("/m/a.yaml", Manifest("a"));
    node.Write("/m/b.yaml", c.text);
    node.Write("/m/c.yaml", Manifest("c"));
    node.Start();
    node.RunFor(1s);
    EXPECT_EQ(node.Show(), "a c");
    EXPECT_FALSE(node.Complete("file"));
    const SourceView view = node.SourceNamed("file");
    ASSERT_EQ(view.problems.size(), 1u);
    EXPECT_EQ(view.problems[0].where, "/m/b.yaml");
    EXPECT_NE(view.problems[0].reason.find(c.reason), std::string::npos) << view.problems[0].reason;
    EXPECT_EQ(node.LogLines("source of pods has a problem").size(), 1u);
    node.Delete("/m/b.yaml");
    node.RunFor(1s);
    EXPECT_TRUE(node.Complete("file"));
    EXPECT_TRUE(node.SourceNamed("file").problems.empty());
  }
}

TEST_F(ConfigSource, AProblemNamesFileFieldAndLine) {
  Write("/m/web.yaml", Manifest("web", "''"));
  StartAndRead(1s);
  ASSERT_EQ(SourceNamed("file").problems.size(), 1u);
  EXPECT_EQ(SourceNamed("file").problems[0].reason,
            "/m/web.yaml: invalid pod: [spec.containers[0].image: Required value] (line 8)");
}

TEST_F(ConfigSource, AMisspeltFieldIsNamedBesideTheOneThatIsMissing) {
  Write("/m/web.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
        "  - name: app\n    imagee: x\n");
  StartAndRead(1s);
  ASSERT_EQ(SourceNamed("file").problems.size(), 1u);
  const std::string reason = SourceNamed("file").problems[0].reason;
  EXPECT_NE(reason.find("spec.containers[0].image: Required value"), std::string::npos) << reason;
  EXPECT_NE(reason.find("spec.containers[0].imagee: unknown field (line 7)"), std::string::npos)
      << reason;
}

TEST_F(ConfigSource, AnUnknownFieldIsIgnoredAndTold) {
  Write("/m/web.yaml", Manifest("web") + "  foo: 1\n");
  StartAndRead();
  EXPECT_EQ(Show(), "web");
  EXPECT_TRUE(Complete("file"));
  ASSERT_EQ(SourceNamed("file").problems.size(), 1u);
  EXPECT_NE(SourceNamed("file").problems[0].reason.find("spec.foo"), std::string::npos);
}

TEST_F(ConfigSource, LinksAreFollowedAndALoopIsAProblem) {
  Write("/elsewhere/web.yaml", Manifest("web"));
  ASSERT_TRUE(files.MakeSymlink("/elsewhere/web.yaml", "/m/web.yaml").ok());
  ASSERT_TRUE(files.MakeSymlink("/m/y.yaml", "/m/x.yaml").ok());
  ASSERT_TRUE(files.MakeSymlink("/m/x.yaml", "/m/y.yaml").ok());
  StartAndRead(1s);
  EXPECT_EQ(Show(), "web");
  EXPECT_EQ(SourceNamed("file").problems.size(), 2u);
}

TEST_F(ConfigSource, ALinkWhoseTargetIsAwayKeepsItsPod) {
  Write("/elsewhere/web.yaml", Manifest("web"));
  ASSERT_TRUE(files.MakeSymlink("/elsewhere/web.yaml", "/m/web.yaml").ok());
  StartAndRead();
  Delete("/elsewhere/web.yaml");
  RunFor(60s);
  EXPECT_EQ(Show(), "web!");
}

TEST_F(ConfigSource, AManifestThatBreaksKeepsItsPodAlsoOverARestart) {
  const auto before = StartWithWeb();
  Write("/m/web.yaml", Manifest("web").substr(0, 40));
  RunFor(60s);
  EXPECT_EQ(Show(), "web!");
  EXPECT_EQ(Find("web")->problem().find("/m/web.yaml: "), 0u);
  Restart();
  EXPECT_EQ(Show(), "web!");
  EXPECT_TRUE(Complete("file"));
  EXPECT_EQ(Find("web")->uid(), before->uid());
  EXPECT_EQ(Find("web")->incarnation(), before->incarnation());
  EXPECT_EQ(Find("web")->generation(), before->generation());
  EXPECT_EQ(Find("web")->pod(), before->pod());
  Write("/m/web.yaml", Manifest("web"));
  RunFor(1s);
  EXPECT_EQ(Show(), "web");
  EXPECT_EQ(Find("web")->incarnation(), before->incarnation());
}

TEST_F(ConfigSource, AHalfWrittenManifestIsReadAgainSoonWithoutAnEvent) {
  Write("/m/web.yaml", Manifest("web").substr(0, 40));
  Start();
  RunFor(50ms);
  EXPECT_EQ(Show(), "");
  process->watcher->Mute(true);
  Write("/m/web.yaml", Manifest("web"));
  RunFor(500ms);
  EXPECT_EQ(Show(), "web");
}

TEST_F(ConfigSource, AManifestThatGoesRemovesItsPodWhichStaysUntilTheWorkerIsFinished) {
  const auto before = StartWithWeb();
  PutWorker(*before, v1::SYNCING);
  Delete("/m/web.yaml");
  RunFor(40ms);
  EXPECT_EQ(Show(), "web-");
  const auto removed = Find("web");
  EXPECT_EQ(removed->incarnation(), before->incarnation());
  EXPECT_GT(removed->generation(), before->generation());
  EXPECT_EQ(removed->pod(), before->pod());
  RunFor(1h);
  PutWorker(*removed, v1::TERMINATED);
  RunFor(1s);
  Restart();
  EXPECT_EQ(Show(), "web-");
  PutWorker(*removed, v1::FINISHED);
  RunFor(1s);
  EXPECT_EQ(Show(), "");
  Restart();
  EXPECT_EQ(Show(), "");
}

TEST_F(ConfigSource, OfAPodRemovedOverARebootNothingIsRememberedWhenItComesBack) {
  const auto before = StartWithWeb();
  PutWorker(*before, v1::SYNCING);
  Reboot();
  Delete("/m/web.yaml");
  StartAndRead(5s);
  ASSERT_EQ(Show(), "web-") << "a process that finds its containers reads this record";
  EXPECT_EQ(Find("web")->incarnation(), before->incarnation());
  PutWorker(*Find("web"), v1::FINISHED);
  RunFor(1s);
  EXPECT_EQ(Show(), "");
  workers.Remove(before->uid());
  RunFor(1s);
  const auto records = files.List("/state/config-source");
  ASSERT_TRUE(records.ok());
  EXPECT_TRUE(records->empty());
  Restart();
  Write("/m/web.yaml", Manifest("web"));
  RunFor(1s);
  ASSERT_EQ(Show(), "web");
  EXPECT_EQ(Find("web")->uid(), before->uid());
  EXPECT_GT(Find("web")->incarnation(), before->incarnation());
  EXPECT_GT(Find("web")->seen_at_wall_ns(), before->seen_at_wall_ns());
}

TEST_F(ConfigSource, APodThatFinishedByItselfStaysWanted) {
  Write("/m/job.yaml", Manifest("job"));
  StartAndRead();
  const auto before = Find("job");
  PutWorker(*before, v1::FINISHED);
  RunFor(1min);
  Restart();
  ASSERT_EQ(Show(), "job");
  EXPECT_EQ(Find("job")->incarnation(), before->incarnation());
}

TEST_F(ConfigSource, AManifestThatComesBackBeginsALaterLifeOfTheSameUid) {
  const auto before = StartWithWeb();
  Delete("/m/web.yaml");
  RunFor(1s);
  Write("/m/web.yaml", Manifest("web"));
  RunFor(1s);
  const auto after = Find("web");
  EXPECT_EQ(Show(), "web");
  EXPECT_EQ(after->uid(), before->uid());
  EXPECT_GT(after->incarnation(), before->incarnation());
}

/// pod-worker learns a moment later that the record has gone, and takes its own back then.
TEST_F(ConfigSource, WhatWasRemovedAndForgottenBeginsALaterLifeAlsoWhileItsWorkerIsStillTold) {
  const auto before = StartWithWeb();
  PutWorker(*before, v1::FINISHED, "Succeeded");
  Delete("/m/web.yaml");
  RunFor(1s);
  ASSERT_EQ(Show(), "");
  Write("/m/web.yaml", Manifest("web"));
  RunFor(1s);
  EXPECT_EQ(Show(), "web");
  EXPECT_GT(Find("web")->incarnation(), before->incarnation());
}

TEST_F(ConfigSource, WhatEndedWithTheNodeLivesAgainInTheNextBootAndNotBefore) {
  const auto before = StartWithWeb();
  const uint64_t boot = clock.Now().boot;
  PutWorker(*before, v1::FINISHED, "Failed", boot);
  RunFor(1s);
  EXPECT_EQ(Find("web")->incarnation(), before->incarnation());
  Restart();
  EXPECT_EQ(Find("web")->incarnation(), before->incarnation()) << "the same boot";
  Reboot();
  PutWorker(*before, v1::FINISHED, "Failed", boot);
  StartAndRead();
  EXPECT_EQ(Show(), "web");
  const int64_t again = Find("web")->incarnation();
  EXPECT_GT(again, before->incarnation());
  PutWorker(*Find("web"), v1::SYNCING);
  RunFor(1min);
  EXPECT_EQ(Find("web")->incarnation(), again) << "once";
}

TEST_F(ConfigSource, WhatEndedWithTheNodeLivesAgainAlsoWhereNothingIsRemembered) {
  const auto before = StartWithWeb();
  const uint64_t boot = clock.Now().boot;
  Reboot();
  ASSERT_TRUE(files.RemoveTree("/state/config-source").ok());
  PutWorker(*before, v1::FINISHED, "Failed", boot);
  StartAndRead();
  EXPECT_GT(Find("web")->incarnation(), before->incarnation());
}

/// The worker's record alone is that of a pod which ended by itself and is still wanted.
TEST_F(ConfigSource, WhatWasRemovedAndWithdrawnBeginsALaterLifeAlsoOverARestart) {
  const auto before = StartWithWeb();
  PutWorker(*before, v1::FINISHED, "Succeeded");
  Delete("/m/web.yaml");
  RunFor(1s);
  ASSERT_EQ(Show(), "");
  Kill();
  Write("/m/web.yaml", Manifest("web"));
  Start();
  RunFor(1s);
  EXPECT_EQ(Show(), "web");
  EXPECT_GT(Find("web")->incarnation(), before->incarnation());
}

TEST_F(ConfigSource, WhatWasRemovedIsRememberedUntilItsWorkerIsNotShownAnyMore) {
  const auto before = StartWithWeb();
  PutWorker(*before, v1::FINISHED, "Succeeded");
  Delete("/m/web.yaml");
  RunFor(1s);
  EXPECT_EQ(files.List("/state/config-source")->size(), 1u);
  Restart();
  ASSERT_EQ(Show(), "") << "withdrawn once more";
  EXPECT_EQ(*process->service->GetPod(before->uid()), nullptr);
  EXPECT_TRUE(Complete("file"));
  workers.Remove(before->uid());
  RunFor(1s);
  EXPECT_TRUE(files.List("/state/config-source")->empty());
}

TEST_F(ConfigSource, AMovedManifestIsAnotherPod) {
  Write("/m/a.yaml", Manifest("web"));
  StartAndRead();
  const auto before = Find("web");
  ASSERT_TRUE(files.Rename("/m/a.yaml", "/m/b.yaml").ok());
  RunFor(1s);
  EXPECT_EQ(Show(), "web web-");
  EXPECT_NE(Find("web")->uid(), before->uid());
}

TEST_F(ConfigSource, ATouchedManifestChangesNothing) {
  const auto before = StartWithWeb();
  Write("/m/web.yaml", Manifest("web"));
  RunFor(1min);
  EXPECT_EQ(Find("web")->SerializeAsString(), before->SerializeAsString());
}

TEST_F(ConfigSource, AnEditedLabelIsANewPodWithTheOldOneRemovedFirst) {
  StartWithWeb();
  std::vector<std::string> seen;
  desired.OnChange([&](const auto& change) {
    seen.push_back(change.after->state() == v1::DesiredRecord::REMOVED ? "removed" : "wanted");
  });
  Write("/m/web.yaml", Manifest("web", "nginx:1.26"));
  RunFor(1s);
  EXPECT_EQ(seen, (std::vector<std::string>{"removed", "wanted"}));
}

TEST_F(ConfigSource, AFixedUidIsUpdatedInPlace) {
  const auto before = StartWithWeb(Manifest("web", "nginx:1", "fixed-1"));
  RunFor(10s);
  Write("/m/web.yaml", Manifest("web", "nginx:2", "fixed-1"));
  RunFor(1s);
  const auto after = Find("web");
  EXPECT_EQ(Show(), "web");
  EXPECT_EQ(after->uid(), "fixed-1");
  EXPECT_EQ(after->incarnation(), before->incarnation());
  EXPECT_GT(after->generation(), before->generation());
  const kube::Pod pod = PodOf("web");
  EXPECT_EQ(pod.spec().containers(0).image(), "nginx:2");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigHash), "fixed-1");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigSeen),
            FormatSeen(WallFromNanos(before->seen_at_wall_ns())));
}

TEST_F(ConfigSource, TwoManifestsOfOnePod) {
  Write("/m/a.yaml", Manifest("web"));
  Write("/m/b.yaml", Manifest("web"));
  StartAndRead();
  EXPECT_EQ(Show(), "web");
  EXPECT_EQ(Find("web")->origin(), "/m/a.yaml");
  EXPECT_EQ(SourceNamed("file").problems.size(), 1u);
  Delete("/m/a.yaml");
  RunFor(1s);
  EXPECT_EQ(Show(), "web web-");
}

TEST_F(ConfigSource, TheLargestManifestIsOneByteBelowTheLimit) {
  const std::string pod = Manifest("web");
  Write("/m/a.yaml", pod + "#" + std::string(kMaxConfigBytes - pod.size() - 1, 'x'));
  Write("/m/b.yaml",
        Manifest("b") + "#" + std::string(kMaxConfigBytes - Manifest("b").size() - 2, 'x'));
  StartAndRead(1s);
  EXPECT_EQ(Show(), "b");
  ASSERT_EQ(SourceNamed("file").problems.size(), 1u);
  EXPECT_EQ(SourceNamed("file").problems[0].reason, "/m/a.yaml: the read limit is reached");
}

TEST_F(ConfigSource, OnlyTheFirstDocumentOfAFileCounts) {
  Write("/m/a.yaml", Manifest("one") + "---\n" + Manifest("two"));
  StartAndRead();
  EXPECT_EQ(Show(), "one");
}

TEST_F(ConfigSource, AnUnreadableDirectoryIsIncompleteNeverEmpty) {
  StartWithWeb();
  files.Fail("/m", PermissionDenied("permission denied"));
  RunFor(1h);
  EXPECT_EQ(Show(), "web");
  EXPECT_FALSE(Complete("file"));
  Restart();
  EXPECT_EQ(Show(), "web");
  EXPECT_FALSE(Complete("file"));
  EXPECT_EQ(process->service->GetPod("u").status().code(), StatusCode::kUnavailable);
  files.Fail("/m", OkStatus());
  RunFor(20s);
  EXPECT_TRUE(Complete("file"));
  EXPECT_EQ(Show(), "web");
}

TEST_F(ConfigSource, ADirectoryThatDoesNotAnswerIsIncompleteUntilItDoes) {
  StartWithWeb();
  files.SetHook([&](std::string_view, const std::string& path) {
    if (path == "/m/web.yaml") all.Charge(25s);
    return OkStatus();
  });
  RunFor(60s);
  EXPECT_EQ(Show(), "web");
  EXPECT_FALSE(Complete("file"));
  EXPECT_NE(SourceNamed("file").reason.find("no answer"), std::string::npos);
  files.SetHook(nullptr);
  RunFor(3min);
  EXPECT_TRUE(Complete("file"));
  EXPECT_EQ(Show(), "web");
}

void KillBetweenAnEditsTwoFacts(Duration jump) {
  TestNode node;
  const auto first = node.StartWithWeb(Manifest("web", "nginx:1"));
  node.RunFor(1s);
  // The removal of the old pod is never remembered, the new pod is.
  node.files.SetHook([&](std::string_view operation, const std::string& path) {
    const bool old = operation == "replace" && path.find(first->uid()) != std::string::npos;
    return old ? Unavailable("lost") : OkStatus();
  });
  node.clock.SetWall(node.clock.WallNow() + jump);
  node.Write("/m/web.yaml", Manifest("web", "nginx:2"));
  node.RunFor(500ms);
  const auto second = node.Find("web");
  ASSERT_NE(second->uid(), first->uid());
  node.Kill();
  node.files.SetHook(nullptr);
  node.Write("/m/web.yaml", "half");
  node.StartAndRead(1s);
  EXPECT_EQ(node.Show(), "web! web-");
  EXPECT_EQ(node.Find("web")->uid(), second->uid());
}

TEST_F(ConfigSource, KilledBetweenAnEditsTwoFactsTheLaterPodIsTheLastGoodOne) {
  for (const Duration jump : {Duration{0}, Duration{-1h}, Duration{1h}}) {
    SCOPED_TRACE(jump / 1h);
    KillBetweenAnEditsTwoFacts(jump);
  }
}

TEST_F(ConfigSource, ARemovedDirectoryKeepsItsPodsForTwoPassesTwentySecondsApart) {
  StartWithWeb();
  ASSERT_TRUE(files.RemoveTree("/m").ok());
  RunFor(19s);
  EXPECT_EQ(Show(), "web");
  EXPECT_FALSE(Complete("file"));
  RunFor(3s);
  EXPECT_EQ(Show(), "web-");
  EXPECT_TRUE(Complete("file"));
}

TEST_F(ConfigSource, ADirectoryThatIsRemovedAndMadeAgainLosesNoPod) {
  const auto before = StartWithWeb();
  ASSERT_TRUE(files.RemoveTree("/m").ok());
  RunFor(10s);
  Write("/m/web.yaml", Manifest("web"));
  RunFor(1min);
  EXPECT_EQ(Show(), "web");
  EXPECT_EQ(Find("web")->incarnation(), before->incarnation());
}

TEST_F(ConfigSource, AManifestDeletedWhileTheProcessWasAwayIsRemovedAndNeverPutAsWanted) {
  Write("/m/web.yaml", Manifest("web"));
  Write("/m/stay.yaml", Manifest("stay"));
  StartAndRead();
  Kill();
  Delete("/m/web.yaml");
  bool wanted_again = false;
  Start();
  desired.OnChange([&](const auto& change) {
    if (change.after != nullptr && change.after->name() == "web-node-a" &&
        change.after->state() == v1::DesiredRecord::WANTED)
      wanted_again = true;
  });
  RunFor(1s);
  EXPECT_EQ(Show(), "stay web-");
  EXPECT_FALSE(wanted_again);
}

TEST_F(ConfigSource, PodsOfASourceThatIsNoLongerConfiguredAreRemoved) {
  StartWithWeb();
  config.static_pod_path.clear();
  Restart();
  EXPECT_EQ(Show(), "web-");
  EXPECT_TRUE(process->service->GetSources().empty());
  EXPECT_TRUE(Complete(std::string(bus::kAll)));
}

TEST_F(ConfigSource, ASourceIsNotCompleteBeforeItsRemovedPodsAreToldSo) {
  for (const bool configured : {true, false}) {
    SCOPED_TRACE(configured ? "manifest deleted" : "source not configured any more");
    TestNode node;
    node.StartWithWeb();
    node.Kill();
    node.Delete("/m/web.yaml");
    if (!configured) node.config.static_pod_path.clear();
    int absent = 0;
    node.desired.OnChange([&](const auto& change) { absent += change.present_after ? 0 : 1; });
    node.files.SetHook([&](std::string_view, const std::string& path) {  // a slow disk
      if (path.starts_with("/state/config-source/"))
        node.all.WaitInStep(node.clock.Now() + 50ms, [] { return false; });
      return OkStatus();
    });
    node.Start();
    node.RunFor(3s);
    EXPECT_EQ(node.Show(), "web-");
    EXPECT_EQ(absent, 0) << "a complete table lacked its record";
    EXPECT_TRUE(node.Complete(std::string(bus::kAll)));
    node.PutWorker(*node.Find("web"), v1::FINISHED);
    node.RunFor(3s);
    EXPECT_EQ(node.Show(), "");
  }
}

TEST_F(ConfigSource, FiveHundredManifestsAtOnce) {
  StartAndRead();
  for (int i = 0; i < 500; ++i)
    Write(fmt::format("/m/p{}.yaml", i), Manifest(fmt::format("p{}", i)));
  RunFor(1s);
  EXPECT_EQ(desired.size(), 500u);
  EXPECT_TRUE(Complete("file"));
  Restart();
  EXPECT_EQ(desired.size(), 500u);
  EXPECT_TRUE(Complete("file"));
  EXPECT_EQ(Show().find('-'), std::string::npos);
}

TEST_F(ConfigSource, ANewPodWaitsForWhatWorkersKnowsOfItsLives) {
  network.SetCallsFail("pod-worker", true);
  Write("/m/web.yaml", Manifest("web"));
  Start();
  RunFor(10min);
  EXPECT_EQ(Show(), "");
  EXPECT_FALSE(Complete("file"));
  EXPECT_EQ(process->service->GetSources().at(0).reason,
            "table `workers` is incomplete: running incarnations are not known yet");
  network.SetCallsFail("pod-worker", false);
  RunFor(5s);
  EXPECT_EQ(Show(), "web");
  EXPECT_TRUE(Complete("file"));
}

TEST_F(ConfigSource, ASourceIsNotCompleteWhileOneOfItsPodsWaitsBesideOthers) {
  const auto web = StartWithWeb();
  Kill();
  network.SetCallsFail("pod-worker", true);
  Write("/m/z.yaml", Manifest("z"));
  Start();
  RunFor(10min);
  EXPECT_EQ(Show(), "web");
  EXPECT_FALSE(Complete("file"));
  network.SetCallsFail("pod-worker", false);
  RunFor(5s);
  EXPECT_EQ(Show(), "web z");
  EXPECT_TRUE(Complete("file"));
}

TEST_F(ConfigSource, APodThatWaitsIsNotAnsweredAsUnknown) {
  StartWithWeb();
  Kill();
  network.SetCallsFail("pod-worker", true);
  Start();
  RunFor(1min);
  ASSERT_TRUE(Complete("file"));
  Write("/m/z.yaml", Manifest("z", "nginx:1", "fixed-z"));
  RunFor(1min);
  EXPECT_EQ(Show(), "web");
  const auto waiting = process->service->GetPod("fixed-z");
  EXPECT_EQ(waiting.status().code(), StatusCode::kUnavailable);
  network.SetCallsFail("pod-worker", false);
  RunFor(5s);
  EXPECT_EQ(Show(), "web z");
}

TEST_F(ConfigSource, ALifeThatOnlyTheRuntimeRemembersGoesOnWhateverTheWallClockSays) {
  const auto before = StartWithWeb();
  PutWorker(*before, v1::WORKER_STATE_UNSPECIFIED);
  Kill();
  ASSERT_TRUE(files.RemoveTree("/state").ok());
  clock.SetWall(clock.WallNow() - 365 * 24h);
  Start();
  RunFor(5s);
  EXPECT_EQ(Show(), "web");
  EXPECT_EQ(Find("web")->incarnation(), before->incarnation());
}

TEST_F(ConfigSource, AWorkerInALaterLifeIsCaughtUpWith) {
  StartWithWeb();
  v1::DesiredRecord later = *Find("web");
  later.set_incarnation(later.incarnation() + 1000);
  PutWorker(later, v1::SYNCING);
  RunFor(100ms);
  EXPECT_EQ(Find("web")->incarnation(), later.incarnation());
}

TEST_F(ConfigSource, GetPodAnswersOnlyWhenEverySourceIsComplete) {
  config.static_pod_url = "http://host/pods";
  StartWithWeb();
  EXPECT_TRUE(Complete("file"));
  EXPECT_EQ(process->service->GetPod("unknown").status().code(), StatusCode::kUnavailable);
  // For a pod of a source that is complete, the others do not matter.
  ASSERT_TRUE(process->service->GetPod("unknown", "file").ok());
  EXPECT_EQ(*process->service->GetPod("unknown", "file"), nullptr);
  for (const char* source : {"http", "no such source"})
    EXPECT_EQ(process->service->GetPod("unknown", source).status().code(),
              StatusCode::kUnavailable);
  fetcher.AnswerBody(Manifest("remote"));
  RunFor(20s);
  ASSERT_TRUE(process->service->GetPod("unknown").ok());
  EXPECT_EQ(*process->service->GetPod("unknown"), nullptr);
  const auto uid = Find("web")->uid();
  ASSERT_TRUE(process->service->GetPod(uid).ok());
  EXPECT_EQ((*process->service->GetPod(uid))->uid(), uid);
}

TEST_F(ConfigSource, OneUidInTwoSourcesBelongsToTheFirst) {
  config.static_pod_url = "http://host/pods";
  StartWithWeb(Manifest("web", "nginx:1", "fixed"));
  fetcher.AnswerBody(Manifest("remote", "nginx:2", "fixed"));
  RunFor(20s);
  EXPECT_EQ(Show(), "web");
  ASSERT_EQ(SourceNamed("http").problems.size(), 1u);
  const auto before = Find("web");
  Delete("/m/web.yaml");
  RunFor(1s);
  ASSERT_EQ(Show(), "remote");
  EXPECT_GT(Find("remote")->incarnation(), before->incarnation());
  EXPECT_TRUE(SourceNamed("http").problems.empty());
}

TEST_F(ConfigSource, EachChangeOfAPodBeginsATrace) {
  std::vector<std::string> traces;
  desired.OnChange([&](const auto& change) { traces.push_back(change.traceparent); });
  Write("/m/web.yaml", Manifest("web"));
  StartAndRead(1s);
  ASSERT_EQ(traces.size(), 1u);
  Write("/m/web.yaml", Manifest("web", "nginx:2"));
  RunFor(1s);
  ASSERT_GE(traces.size(), 2u);
  EXPECT_NE(traces.back(), traces.front());
  Delete("/m/web.yaml");
  RunFor(1s);
  std::vector<std::shared_ptr<const v1::DesiredRecord>> records;
  desired.ForEach([&](const std::string&, const auto& record) { records.push_back(record); });
  for (const auto& record : records) PutWorker(*record, v1::FINISHED);
  RunFor(1s);
  ASSERT_EQ(Show(), "") << "the removals of the records are among the changes";
  for (const auto& trace : traces) EXPECT_NE(TraceIdOf(trace), "") << trace;
  const std::set<std::string> different(traces.begin(), traces.end());
  EXPECT_EQ(different.size(), traces.size());
  const auto lines = LogLines("desired pod changed");
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines.front().find("traceID=" + TraceIdOf(traces.front()) + " "), std::string::npos)
      << lines.front();
}

}  // namespace
}  // namespace splitlet::config_source
