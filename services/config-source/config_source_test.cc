#include <fmt/ranges.h>

#include <set>

#include "libs/base/trace.h"
#include "services/config-source/testing.h"

namespace splitlet::config_source {
namespace {

TEST(ConfigSource, AManifestBecomesADesiredPod) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  const auto record = node.Find("web");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->state(), v1::DesiredRecord::WANTED);
  EXPECT_EQ(record->source(), "file");
  EXPECT_EQ(record->origin(), "/m/web.yaml");
  EXPECT_GT(record->incarnation(), 0);
  EXPECT_GT(record->generation(), 0);
  const kube::Pod pod = node.PodOf("web");
  EXPECT_EQ(pod.metadata().name(), "web-node-a");
  EXPECT_EQ(pod.metadata().uid(), record->uid());
  EXPECT_EQ(pod.spec().node_name(), "node-a");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigHash), record->uid());
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigSource), "file");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigSeen),
            FormatSeen(WallFromNanos(record->seen_at_wall_ns())));
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_TRUE(node.Complete(std::string(bus::kAll)));
  // A source that is not configured is not listed.
  EXPECT_EQ(node.desired.completeness().scopes,
            (std::set<std::string>{"file", std::string(bus::kAll)}));
  EXPECT_TRUE(node.process->service->GetHealth().ready);
}

TEST(ConfigSource, AMissingDirectoryIsCompleteAndEmptyAndIsFoundLater) {
  TestNode node;
  node.config.static_pod_path = "/later";
  node.Start();
  node.RunFor(100ms);
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_EQ(node.Show(), "");
  node.process->watcher->Mute(true);
  node.Write("/later/web.yaml", Manifest("web"));
  node.RunFor(20s);
  EXPECT_EQ(node.Show(), "web");
}

TEST(ConfigSource, HiddenFilesAndDirectoriesAreSkipped) {
  TestNode node;
  node.Write("/m/a.yaml", Manifest("a"));
  node.Write("/m/.b.yaml", Manifest("b"));
  node.Write("/m/c/c.yaml", Manifest("c"));
  node.Start();
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "a");
  EXPECT_EQ(node.LogLines("not a manifest, skipped").size(), 1u);
}

TEST(ConfigSource, ASingleFileIsASourceToo) {
  TestNode node;
  node.config.static_pod_path = "/etc/web.yaml";
  node.Write("/etc/web.yaml", "kind: nonsense");
  node.Start();
  node.RunFor(100ms);
  EXPECT_FALSE(node.Complete("file"));
  node.Write("/etc/web.yaml", Manifest("web"));
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_TRUE(node.Complete("file"));
  node.Write("/etc/web.yaml", "broken: [");
  node.RunFor(60s);
  EXPECT_EQ(node.Show(), "web!");
}

TEST(ConfigSource, ABrokenManifestAmongGoodOnesHarmsNoOther) {
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
    EXPECT_EQ(node.LogLines("problem with a manifest").size(), 1u);
    node.Delete("/m/b.yaml");
    node.RunFor(1s);
    EXPECT_TRUE(node.Complete("file"));
    EXPECT_TRUE(node.SourceNamed("file").problems.empty());
  }
}

TEST(ConfigSource, AProblemNamesFileFieldAndLine) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web", "''"));
  node.Start();
  node.RunFor(1s);
  ASSERT_EQ(node.SourceNamed("file").problems.size(), 1u);
  EXPECT_EQ(node.SourceNamed("file").problems[0].reason,
            "/m/web.yaml: invalid pod: [spec.containers[0].image: Required value] (line 8)");
}

TEST(ConfigSource, AMisspeltFieldIsNamedBesideTheOneThatIsMissing) {
  TestNode node;
  node.Write("/m/web.yaml",
             "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
             "  - name: app\n    imagee: x\n");
  node.Start();
  node.RunFor(1s);
  ASSERT_EQ(node.SourceNamed("file").problems.size(), 1u);
  const std::string reason = node.SourceNamed("file").problems[0].reason;
  EXPECT_NE(reason.find("spec.containers[0].image: Required value"), std::string::npos) << reason;
  EXPECT_NE(reason.find("spec.containers[0].imagee: unknown field (line 7)"), std::string::npos)
      << reason;
}

TEST(ConfigSource, AnUnknownFieldIsIgnoredAndTold) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web") + "  foo: 1\n");
  node.Start();
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_TRUE(node.Complete("file"));
  ASSERT_EQ(node.SourceNamed("file").problems.size(), 1u);
  EXPECT_NE(node.SourceNamed("file").problems[0].reason.find("spec.foo"), std::string::npos);
}

TEST(ConfigSource, LinksAreFollowedAndALoopIsAProblem) {
  TestNode node;
  node.Write("/elsewhere/web.yaml", Manifest("web"));
  ASSERT_TRUE(node.files.MakeSymlink("/elsewhere/web.yaml", "/m/web.yaml").ok());
  ASSERT_TRUE(node.files.MakeSymlink("/m/y.yaml", "/m/x.yaml").ok());
  ASSERT_TRUE(node.files.MakeSymlink("/m/x.yaml", "/m/y.yaml").ok());
  node.Start();
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(node.SourceNamed("file").problems.size(), 2u);
}

TEST(ConfigSource, ALinkWhoseTargetIsAwayKeepsItsPod) {
  TestNode node;
  node.Write("/elsewhere/web.yaml", Manifest("web"));
  ASSERT_TRUE(node.files.MakeSymlink("/elsewhere/web.yaml", "/m/web.yaml").ok());
  node.Start();
  node.RunFor(100ms);
  node.Delete("/elsewhere/web.yaml");
  node.RunFor(60s);
  EXPECT_EQ(node.Show(), "web!");
}

TEST(ConfigSource, AManifestThatBreaksKeepsItsPodAlsoOverARestart) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("web");
  node.Write("/m/web.yaml", Manifest("web").substr(0, 40));
  node.RunFor(60s);
  EXPECT_EQ(node.Show(), "web!");
  EXPECT_EQ(node.Find("web")->problem().find("/m/web.yaml: "), 0u);
  node.Restart();
  EXPECT_EQ(node.Show(), "web!");
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_EQ(node.Find("web")->uid(), before->uid());
  EXPECT_EQ(node.Find("web")->incarnation(), before->incarnation());
  EXPECT_EQ(node.Find("web")->generation(), before->generation());
  EXPECT_EQ(node.Find("web")->pod(), before->pod());
  node.Write("/m/web.yaml", Manifest("web"));
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(node.Find("web")->incarnation(), before->incarnation());
}

TEST(ConfigSource, AHalfWrittenManifestIsReadAgainSoonWithoutAnEvent) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web").substr(0, 40));
  node.Start();
  node.RunFor(50ms);
  EXPECT_EQ(node.Show(), "");
  node.process->watcher->Mute(true);
  node.Write("/m/web.yaml", Manifest("web"));
  node.RunFor(500ms);
  EXPECT_EQ(node.Show(), "web");
}

TEST(ConfigSource, AManifestThatGoesRemovesItsPodWhichStaysUntilTheWorkerIsFinished) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("web");
  node.PutWorker(*before, v1::SYNCING);
  node.Delete("/m/web.yaml");
  node.RunFor(40ms);
  EXPECT_EQ(node.Show(), "web-");
  const auto removed = node.Find("web");
  EXPECT_EQ(removed->incarnation(), before->incarnation());
  EXPECT_GT(removed->generation(), before->generation());
  EXPECT_EQ(removed->pod(), before->pod());
  node.RunFor(1h);
  node.PutWorker(*removed, v1::TERMINATED);
  node.RunFor(1s);
  node.Restart();
  EXPECT_EQ(node.Show(), "web-");
  node.PutWorker(*removed, v1::FINISHED);
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "");
  node.Restart();
  EXPECT_EQ(node.Show(), "");
}

TEST(ConfigSource, APodThatFinishedByItselfStaysWanted) {
  TestNode node;
  node.Write("/m/job.yaml", Manifest("job"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("job");
  node.PutWorker(*before, v1::FINISHED);
  node.RunFor(1min);
  node.Restart();
  ASSERT_EQ(node.Show(), "job");
  EXPECT_EQ(node.Find("job")->incarnation(), before->incarnation());
}

TEST(ConfigSource, AManifestThatComesBackBeginsALaterLifeOfTheSameUid) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("web");
  node.Delete("/m/web.yaml");
  node.RunFor(1s);
  node.Write("/m/web.yaml", Manifest("web"));
  node.RunFor(1s);
  const auto after = node.Find("web");
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(after->uid(), before->uid());
  EXPECT_GT(after->incarnation(), before->incarnation());
}

TEST(ConfigSource, AMovedManifestIsAnotherPod) {
  TestNode node;
  node.Write("/m/a.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("web");
  ASSERT_TRUE(node.files.Rename("/m/a.yaml", "/m/b.yaml").ok());
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web web-");
  EXPECT_NE(node.Find("web")->uid(), before->uid());
}

TEST(ConfigSource, ATouchedManifestChangesNothing) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("web");
  node.Write("/m/web.yaml", Manifest("web"));
  node.RunFor(1min);
  EXPECT_EQ(node.Find("web")->SerializeAsString(), before->SerializeAsString());
}

TEST(ConfigSource, AnEditedLabelIsANewPodWithTheOldOneRemovedFirst) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  std::vector<std::string> seen;
  node.desired.OnChange([&](const auto& change) {
    seen.push_back(change.after->state() == v1::DesiredRecord::REMOVED ? "removed" : "wanted");
  });
  node.Write("/m/web.yaml", Manifest("web", "nginx:1.26"));
  node.RunFor(1s);
  EXPECT_EQ(seen, (std::vector<std::string>{"removed", "wanted"}));
}

TEST(ConfigSource, AFixedUidIsUpdatedInPlace) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web", "nginx:1", "fixed-1"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("web");
  node.RunFor(10s);
  node.Write("/m/web.yaml", Manifest("web", "nginx:2", "fixed-1"));
  node.RunFor(1s);
  const auto after = node.Find("web");
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(after->uid(), "fixed-1");
  EXPECT_EQ(after->incarnation(), before->incarnation());
  EXPECT_GT(after->generation(), before->generation());
  const kube::Pod pod = node.PodOf("web");
  EXPECT_EQ(pod.spec().containers(0).image(), "nginx:2");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigHash), "fixed-1");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigSeen),
            FormatSeen(WallFromNanos(before->seen_at_wall_ns())));
}

TEST(ConfigSource, TwoManifestsOfOnePod) {
  TestNode node;
  node.Write("/m/a.yaml", Manifest("web"));
  node.Write("/m/b.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(node.Find("web")->origin(), "/m/a.yaml");
  EXPECT_EQ(node.SourceNamed("file").problems.size(), 1u);
  node.Delete("/m/a.yaml");
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web web-");
}

TEST(ConfigSource, TheLargestManifestIsOneByteBelowTheLimit) {
  const std::string pod = Manifest("web");
  TestNode node;
  node.Write("/m/a.yaml", pod + "#" + std::string(kMaxConfigBytes - pod.size() - 1, 'x'));
  node.Write("/m/b.yaml",
             Manifest("b") + "#" + std::string(kMaxConfigBytes - Manifest("b").size() - 2, 'x'));
  node.Start();
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "b");
  ASSERT_EQ(node.SourceNamed("file").problems.size(), 1u);
  EXPECT_EQ(node.SourceNamed("file").problems[0].reason, "/m/a.yaml: the read limit is reached");
}

TEST(ConfigSource, OnlyTheFirstDocumentOfAFileCounts) {
  TestNode node;
  node.Write("/m/a.yaml", Manifest("one") + "---\n" + Manifest("two"));
  node.Start();
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "one");
}

TEST(ConfigSource, AnUnreadableDirectoryIsIncompleteNeverEmpty) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  node.files.Fail("/m", PermissionDenied("permission denied"));
  node.RunFor(1h);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_FALSE(node.Complete("file"));
  node.Restart();
  EXPECT_EQ(node.Show(), "web");
  EXPECT_FALSE(node.Complete("file"));
  EXPECT_EQ(node.process->service->GetPod("u").status().code(), StatusCode::kUnavailable);
  node.files.Fail("/m", OkStatus());
  node.RunFor(20s);
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_EQ(node.Show(), "web");
}

TEST(ConfigSource, ADirectoryThatDoesNotAnswerIsIncompleteUntilItDoes) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  node.files.SetHook([&](std::string_view, const std::string& path) {
    if (path == "/m/web.yaml") node.all.Charge(25s);
    return OkStatus();
  });
  node.RunFor(60s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_FALSE(node.Complete("file"));
  EXPECT_NE(node.SourceNamed("file").reason.find("no answer"), std::string::npos);
  node.files.SetHook(nullptr);
  node.RunFor(3min);
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_EQ(node.Show(), "web");
}

void KillBetweenAnEditsTwoFacts(Duration jump) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web", "nginx:1"));
  node.Start();
  node.RunFor(100ms);
  const auto first = node.Find("web");
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
  node.Start();
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web! web-");
  EXPECT_EQ(node.Find("web")->uid(), second->uid());
}

TEST(ConfigSource, KilledBetweenAnEditsTwoFactsTheLaterPodIsTheLastGoodOne) {
  for (const Duration jump : {Duration{0}, Duration{-1h}, Duration{1h}}) {
    SCOPED_TRACE(jump / 1h);
    KillBetweenAnEditsTwoFacts(jump);
  }
}

TEST(ConfigSource, ARemovedDirectoryKeepsItsPodsForTwoPassesTwentySecondsApart) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  ASSERT_TRUE(node.files.RemoveTree("/m").ok());
  node.RunFor(19s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_FALSE(node.Complete("file"));
  node.RunFor(3s);
  EXPECT_EQ(node.Show(), "web-");
  EXPECT_TRUE(node.Complete("file"));
}

TEST(ConfigSource, ADirectoryThatIsRemovedAndMadeAgainLosesNoPod) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("web");
  ASSERT_TRUE(node.files.RemoveTree("/m").ok());
  node.RunFor(10s);
  node.Write("/m/web.yaml", Manifest("web"));
  node.RunFor(1min);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(node.Find("web")->incarnation(), before->incarnation());
}

TEST(ConfigSource, AManifestDeletedWhileTheProcessWasAwayIsRemovedAndNeverPutAsWanted) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Write("/m/stay.yaml", Manifest("stay"));
  node.Start();
  node.RunFor(100ms);
  node.Kill();
  node.Delete("/m/web.yaml");
  bool wanted_again = false;
  node.Start();
  node.desired.OnChange([&](const auto& change) {
    if (change.after != nullptr && change.after->name() == "web-node-a" &&
        change.after->state() == v1::DesiredRecord::WANTED)
      wanted_again = true;
  });
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "stay web-");
  EXPECT_FALSE(wanted_again);
}

TEST(ConfigSource, PodsOfASourceThatIsNoLongerConfiguredAreRemoved) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  node.config.static_pod_path.clear();
  node.Restart();
  EXPECT_EQ(node.Show(), "web-");
  EXPECT_TRUE(node.process->service->GetSources().empty());
  EXPECT_TRUE(node.Complete(std::string(bus::kAll)));
}

TEST(ConfigSource, ASourceIsNotCompleteBeforeItsRemovedPodsAreToldSo) {
  for (const bool configured : {true, false}) {
    SCOPED_TRACE(configured ? "manifest deleted" : "source not configured any more");
    TestNode node;
    node.Write("/m/web.yaml", Manifest("web"));
    node.Start();
    node.RunFor(100ms);
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
    EXPECT_EQ(absent, 0) << "a complete table without it said that it was gone";
    EXPECT_TRUE(node.Complete(std::string(bus::kAll)));
    node.PutWorker(*node.Find("web"), v1::FINISHED);
    node.RunFor(3s);
    EXPECT_EQ(node.Show(), "");
  }
}

TEST(ConfigSource, FiveHundredManifestsAtOnce) {
  TestNode node;
  node.Start();
  node.RunFor(100ms);
  for (int i = 0; i < 500; ++i)
    node.Write(fmt::format("/m/p{}.yaml", i), Manifest(fmt::format("p{}", i)));
  node.RunFor(1s);
  EXPECT_EQ(node.desired.size(), 500u);
  EXPECT_TRUE(node.Complete("file"));
  node.Restart();
  EXPECT_EQ(node.desired.size(), 500u);
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_EQ(node.Show().find('-'), std::string::npos);
}

TEST(ConfigSource, ANewPodWaitsThreeSecondsForWorkersAndNoLonger) {
  TestNode node;
  node.network.SetCallsFail("pod-worker", true);
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(2900ms);
  EXPECT_EQ(node.Show(), "");
  EXPECT_FALSE(node.Complete("file"));
  node.RunFor(200ms);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_TRUE(node.Complete("file"));
}

TEST(ConfigSource, AWorkerInALaterLifeIsCaughtUpWith) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  v1::DesiredRecord later = *node.Find("web");
  later.set_incarnation(later.incarnation() + 1000);
  node.PutWorker(later, v1::SYNCING);
  node.RunFor(100ms);
  EXPECT_EQ(node.Find("web")->incarnation(), later.incarnation());
}

TEST(ConfigSource, GetPodAnswersOnlyWhenEverySourceIsComplete) {
  TestNode node;
  node.config.static_pod_url = "http://host/pods";
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(100ms);
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_EQ(node.process->service->GetPod("nobody").status().code(), StatusCode::kUnavailable);
  node.fetcher.AnswerBody(Manifest("remote"));
  node.RunFor(20s);
  ASSERT_TRUE(node.process->service->GetPod("nobody").ok());
  EXPECT_EQ(*node.process->service->GetPod("nobody"), nullptr);
  const auto uid = node.Find("web")->uid();
  ASSERT_TRUE(node.process->service->GetPod(uid).ok());
  EXPECT_EQ((*node.process->service->GetPod(uid))->uid(), uid);
}

TEST(ConfigSource, OneUidInTwoSourcesBelongsToTheFirst) {
  TestNode node;
  node.config.static_pod_url = "http://host/pods";
  node.Write("/m/web.yaml", Manifest("web", "nginx:1", "fixed"));
  node.Start();
  node.RunFor(100ms);
  node.fetcher.AnswerBody(Manifest("remote", "nginx:2", "fixed"));
  node.RunFor(20s);
  EXPECT_EQ(node.Show(), "web");
  ASSERT_EQ(node.SourceNamed("http").problems.size(), 1u);
  const auto before = node.Find("web");
  node.Delete("/m/web.yaml");
  node.RunFor(1s);
  ASSERT_EQ(node.Show(), "remote");
  EXPECT_GT(node.Find("remote")->incarnation(), before->incarnation());
  EXPECT_TRUE(node.SourceNamed("http").problems.empty());
}

TEST(ConfigSource, EachChangeOfAPodBeginsATrace) {
  TestNode node;
  std::vector<std::string> traces;
  node.desired.OnChange([&](const auto& change) { traces.push_back(change.traceparent); });
  node.Write("/m/web.yaml", Manifest("web"));
  node.Start();
  node.RunFor(1s);
  ASSERT_EQ(traces.size(), 1u);
  node.Write("/m/web.yaml", Manifest("web", "nginx:2"));
  node.RunFor(1s);
  ASSERT_GE(traces.size(), 2u);
  EXPECT_NE(traces.back(), traces.front());
  node.Delete("/m/web.yaml");
  node.RunFor(1s);
  std::vector<std::shared_ptr<const v1::DesiredRecord>> records;
  node.desired.ForEach([&](const std::string&, const auto& record) { records.push_back(record); });
  for (const auto& record : records) node.PutWorker(*record, v1::FINISHED);
  node.RunFor(1s);
  ASSERT_EQ(node.Show(), "") << "the removals of the records are among the changes";
  for (const auto& trace : traces) EXPECT_NE(TraceIdOf(trace), "") << trace;
  const std::set<std::string> different(traces.begin(), traces.end());
  EXPECT_EQ(different.size(), traces.size());
  const auto lines = node.LogLines("desired pod changed");
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines.front().find("traceID=" + TraceIdOf(traces.front()) + " "), std::string::npos)
      << lines.front();
}

}  // namespace
}  // namespace splitlet::config_source
