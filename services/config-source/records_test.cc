#include <prometheus/text_serializer.h>

#include <cerrno>
#include <map>

#include "services/config-source/config_source_fixture.h"

namespace splitlet::config_source {
namespace {

/// Removes the manifest and ends the pod; then no record of the pod is left.
void EndAndForgetWeb(TestNode& node, const v1::DesiredRecord& web) {
  node.Delete("/m/web.yaml");
  node.RunFor(1s);
  node.PutWorker(web, v1::FINISHED);
  node.RunFor(1s);
  node.workers.Remove(web.uid());
  node.RunFor(1s);
}

TEST(ConfigSourceRecords, WithoutItsFileAPodGoesOnInTheLifeItsWorkerKnows) {
  TestNode node;
  const auto before = node.StartWithWeb();
  node.PutWorker(*before, v1::SYNCING);
  node.Kill();
  ASSERT_TRUE(node.files.RemoveTree("/state").ok());
  node.RunFor(10s);
  node.Start();
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(node.Find("web")->incarnation(), before->incarnation());
  EXPECT_GT(node.Find("web")->generation(), before->generation());
}

TEST(ConfigSourceRecords, AForgottenPodBeginsALaterLifeHoweverFarTheWallClockIsSetBack) {
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    TestNode node;
    const auto before = node.StartWithWeb();
    node.Write("/m/later.yaml", Manifest("later"));
    node.RunFor(1s);
    EndAndForgetWeb(node, *before);
    ASSERT_EQ(node.Show(), "later");
    if (restarted) node.Restart();
    node.clock.SetWall(node.clock.WallNow() - 6h);
    node.Write("/m/web.yaml", Manifest("web"));
    node.RunFor(1s);
    ASSERT_EQ(node.Find("web")->uid(), before->uid());
    EXPECT_GT(node.Find("web")->incarnation(), before->incarnation());
  }
}

TEST(ConfigSourceRecords, ALifeThatNoFileKnowsOfIsNotBegunAgainByCounting) {
  TestNode node;
  node.Write("/m/other.yaml", Manifest("other"));
  node.Start();
  node.RunFor(1s);
  node.clock.SetWall(node.clock.WallNow() - 6h);
  node.Write("/m/web.yaml", Manifest("web"));
  node.RunFor(1s);
  const auto before = node.Find("web");
  ASSERT_GT(before->incarnation(), node.Find("other")->incarnation());
  EndAndForgetWeb(node, *before);
  node.Restart();
  node.Write("/m/web.yaml", Manifest("web"));
  node.RunFor(1s);
  ASSERT_EQ(node.Find("web")->uid(), before->uid());
  EXPECT_NE(node.Find("web")->incarnation(), before->incarnation());
}

TEST(ConfigSourceRecords, AFactOfANewerVersionMakesItsPodUnknown) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web", "nginx", "fixed"));
  node.Write("/m/other.yaml", Manifest("other"));
  node.Write("/state/config-source/fixed", "splitlet-fact 9 1 0\nwhatever");
  node.Start();
  node.RunFor(10s);
  EXPECT_EQ(node.Show(), "other");
  EXPECT_FALSE(node.Complete("file"));
  EXPECT_NE(node.SourceNamed("file").reason.find("newer"), std::string::npos);
  EXPECT_EQ(*node.files.Read("/state/config-source/fixed", 1000), "splitlet-fact 9 1 0\nwhatever");
}

TEST(ConfigSourceRecords, RootPutsAFactAsideThatNobodyCanRead) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web", "nginx", "fixed"));
  node.Write("/state/config-source/fixed", "splitlet-fact 9 1 0\nwhatever");
  node.Write("/state/config-source/gone", "garbage");
  node.Start();
  node.RunFor(10s);
  EXPECT_EQ(node.Show(), "");
  auto& service = *node.process->service;
  EXPECT_EQ(service.Notes().size(), 2u);
  const auto discard = [&](const std::string& uid) {
    auto answer = std::make_shared<StatusOr<std::vector<std::string>>>(Unavailable("none"));
    node.process->loop.Post([&service, uid, answer] {
      service.DiscardRecord(uid, [answer](auto paths) { *answer = std::move(paths); });
    });
    node.RunFor(100ms);
    return *answer;
  };
  EXPECT_EQ(discard("other").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(discard("gone").value(),
            std::vector<std::string>{"/state/config-source-discarded/gone"});
  EXPECT_EQ(discard("fixed").value(),
            std::vector<std::string>{"/state/config-source-discarded/fixed"});
  node.RunFor(1s);
  EXPECT_TRUE(service.Notes().empty());
  EXPECT_EQ(node.Show(), "web") << "as its source delivers it";
  EXPECT_TRUE(node.Complete("file"));
}

/// A pod "fixed" with a broken file, and a worker that keeps config-source from discarding the
/// file.
constexpr const char* kBrokenFile = "/state/config-source/fixed";
void StartWithBrokenFile(TestNode& node) {
  node.Write(kBrokenFile, "garbage");
  v1::DesiredRecord known;
  known.set_uid("fixed");
  known.set_incarnation(5);
  node.PutWorker(known, v1::SYNCING);
  node.StartAndRead(1s);
}

TEST(ConfigSourceRecords, AFileIsNotDiscardedWhileItIsReplaced) {
  TestNode node;
  StartWithBrokenFile(node);
  node.files.SetHook([&node](std::string_view operation, const std::string& path) {
    if (operation == "replace" && path == kBrokenFile)  // a slow disk
      node.all.WaitInStep(node.clock.Now() + 1s, [] { return false; });
    return OkStatus();
  });
  Status discarded = OkStatus();
  node.process->loop.Post([&] {
    node.process->loop.RunAfter(500ms, [&] {
      node.process->service->DiscardRecord(
          "fixed", [&discarded](const auto& paths) { discarded = paths.status(); });
    });
  });
  node.Write("/m/web.yaml", Manifest("web", "nginx", "fixed"));
  node.RunFor(5s);
  EXPECT_EQ(discarded.code(), StatusCode::kUnavailable) << discarded;
  EXPECT_EQ(node.Show(), "web");
  EXPECT_TRUE(node.files.Read(kBrokenFile, 100'000).ok()) << "the new file was moved away";
  EXPECT_FALSE(node.files.List("/state/config-source-discarded").ok());
}

TEST(ConfigSourceRecords, ABrokenFileOfAWantedPodIsNotDiscarded) {
  TestNode node;
  StartWithBrokenFile(node);
  node.files.SetHook([](std::string_view operation, const std::string& path) {
    return operation == "replace" && path == kBrokenFile ? Unavailable("i/o error") : OkStatus();
  });
  node.Write("/m/web.yaml", Manifest("web", "nginx", "fixed"));
  node.RunFor(3s);
  node.workers.Remove("fixed");
  node.RunFor(3s);
  EXPECT_TRUE(node.Complete("file"));
  EXPECT_EQ(node.files.Read(kBrokenFile, 100).value_or("discarded"), "garbage");
}

TEST(ConfigSourceRecords, ARememberedPodOfAnotherKeyIsNone) {
  TestNode node;
  const auto before = node.StartWithWeb();
  const std::string bytes = *node.files.Read("/state/config-source/" + before->uid(), 100'000);
  node.Kill();
  node.Write("/state/config-source/other", bytes);
  node.Start();
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(*node.files.Read("/state/config-source-discarded/other", 100'000), bytes);
}

TEST(ConfigSourceRecords, ABrokenRecordDoesNotMakeItsPodUnwanted) {
  TestNode node;
  const auto knows = [&node](const std::string& uid) {
    return node.process->service->GetPod(uid, "file").status().code();
  };
  node.Write("/m/other.yaml", Manifest("other"));
  node.Write("/state/config-source/gone", "garbage");
  v1::DesiredRecord gone;
  gone.set_uid("gone");
  gone.set_incarnation(5);
  node.PutWorker(gone, v1::SYNCING);
  node.Start();
  node.RunFor(60s);
  ASSERT_TRUE(node.Complete("file"));
  EXPECT_EQ(knows("gone"), StatusCode::kUnavailable);
  EXPECT_EQ(knows("never-seen"), StatusCode::kOk);
  node.workers.Remove("gone");
  node.RunFor(1s);
  EXPECT_EQ(knows("gone"), StatusCode::kOk) << "nothing is left of it anywhere";
  EXPECT_EQ(*node.files.Read("/state/config-source-discarded/gone", 100), "garbage");
  EXPECT_TRUE(node.process->service->Notes().empty());
}

TEST(ConfigSourceRecords, AFileNameThatIsNoTextCostsNoPod) {
  TestNode node;
  node.Write("/m/we\xFF\xC3(b.yaml", Manifest("web"));
  node.Write(
      "/m/ba\xFE"
      "d.yaml",
      "nonsense");
  node.Start();
  node.RunFor(2s);
  ASSERT_EQ(node.Show(), "web");
  EXPECT_EQ(node.Find("web")->origin(), "/m/we\uFFFD\uFFFD(b.yaml");
  const auto before = node.Find("web");
  node.Restart();
  ASSERT_EQ(node.Show(), "web");
  EXPECT_EQ(node.Find("web")->incarnation(), before->incarnation());
}

TEST(ConfigSourceRecords, AManifestWhoseNameIsNoTextKeepsItsLastGoodPodOverARestart) {
  TestNode node;
  const std::string path = "/m/we\xFF\xC3(b.yaml";
  node.Write(path, Manifest("web"));
  node.StartAndRead();
  ASSERT_EQ(node.Show(), "web");
  node.Kill();
  node.Write(path, "nonsense");
  node.StartAndRead(10s);
  EXPECT_EQ(node.Show(), "web!");
  node.Delete(path);
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "web-");
}

TEST(ConfigSourceRecords, ABrokenFactIsReplaced) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web", "nginx", "fixed"));
  node.Write("/state/config-source/fixed", "");
  node.Start();
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_TRUE(node.Complete("file"));
}

TEST(ConfigSourceRecords, NothingIsSaidWhileTheFactsCannotBeRead) {
  TestNode node;
  node.Write("/m/web.yaml", Manifest("web"));
  node.Write("/state/config-source/x", "");
  node.files.Fail("/state", Unavailable("input/output error"));
  node.Start();
  node.RunFor(10s);
  EXPECT_EQ(node.Show(), "");
  EXPECT_FALSE(node.Complete("file"));
  EXPECT_FALSE(node.process->service->GetHealth().ready);
  node.files.Fail("/state", OkStatus());
  node.RunFor(2s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_TRUE(node.process->service->GetHealth().ready);
}

TEST(ConfigSourceRecords, AFactThatCannotBeReadNowIsNotTakenForAbsent) {
  TestNode node;
  const auto before = node.StartWithWeb();
  node.Kill();
  node.files.SetHook([](std::string_view operation, const std::string& path) {
    const bool record = operation == "read" && path.starts_with("/state/");
    return record ? ErrnoStatus(EMFILE) : OkStatus();
  });
  node.Start();
  node.RunFor(10s);
  EXPECT_FALSE(node.Complete("file"));
  EXPECT_FALSE(node.process->service->GetPod(before->uid()).ok());
  const daemon::Health health = node.process->service->GetHealth();
  EXPECT_FALSE(health.ready);
  EXPECT_NE(health.reason.find(before->uid()), std::string::npos) << health.reason;
  node.files.SetHook(nullptr);
  node.RunFor(2s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_EQ(node.Find("web")->incarnation(), before->incarnation());
  EXPECT_EQ(node.Find("web")->generation(), before->generation());
}

TEST(ConfigSourceRecords, ADiskThatHangsIsTheReasonOfAnUnreadyProcess) {
  for (const bool reading : {true, false}) {
    SCOPED_TRACE(reading ? "read" : "write");
    TestNode node;
    node.StartWithWeb();
    if (reading) node.Kill();
    node.files.SetHook([&](std::string_view operation, const std::string& path) {
      const bool hangs = reading ? operation == "list" && path == "/state/config-source"
                                 : operation == "replace" && path.starts_with("/state/");
      if (hangs) node.all.WaitInStep(node.clock.Now() + 30s, [] { return false; });
      return OkStatus();
    });
    if (reading) node.Start();
    std::map<Duration, std::string> reasons;
    node.process->loop.Post([&] {
      for (const Duration at : {5s, 15s})
        node.process->loop.RunAfter(
            at, [&, at] { reasons[at] = node.process->service->GetHealth().reason; });
    });
    node.Write("/m/new.yaml", Manifest("new"));
    node.RunFor(3min);
    EXPECT_EQ(reasons[5s].find("the disk"), std::string::npos) << reasons[5s];
    EXPECT_NE(reasons[15s].find("the disk has not answered for 1"), std::string::npos)
        << reasons[15s];
    node.files.SetHook(nullptr);
    node.RunFor(1min);
    EXPECT_TRUE(node.process->service->GetHealth().ready);
    EXPECT_EQ(node.Show(), "new web");
  }
}

TEST(ConfigSourceRecords, ARecordThatTheTableRefusesIsCounted) {
  TestNode node;
  FailPoints points;
  FailPoints::SetCurrent(&points);
  ASSERT_TRUE(points.Set("config-source.put.before", "1*return(unavailable,full)->off").ok());
  node.Write("/m/web.yaml", Manifest("web"));
  node.StartAndRead();
  EXPECT_EQ(node.Show(), "");
  EXPECT_FALSE(node.Complete("file"));
  EXPECT_EQ(
      node.LogLines("cannot publish the pod in `desired`, readers keep its last record").size(),
      1u);
  const std::string scrape =
      prometheus::TextSerializer().Serialize(node.process->registry.Collect());
  EXPECT_NE(scrape.find("splitlet_config_put_errors_total 1"), std::string::npos) << scrape;
  node.Write("/m/web.yaml", Manifest("web") + "# written again\n");
  node.RunFor(1s);
  EXPECT_EQ(node.Show(), "web");
  EXPECT_TRUE(node.Complete("file"));
}

TEST(ConfigSourceRecords, AFullDiskHoldsBackNewPodsButNotRemovals) {
  TestNode node;
  node.StartWithWeb();
  node.files.SetFull("/state", true);
  node.Write("/m/new.yaml", Manifest("new"));
  node.Delete("/m/web.yaml");
  node.RunFor(5s);
  EXPECT_EQ(node.Show(), "web-");
  EXPECT_FALSE(node.process->service->GetHealth().ready);
  node.files.SetFull("/state", false);
  node.RunFor(2s);
  EXPECT_EQ(node.Show(), "new web-");
  EXPECT_TRUE(node.process->service->GetHealth().ready);
}

/// Until the disk has space, the pod's file says that the pod is wanted: the next start would read
/// it and take the removal back.
TEST(ConfigSourceRecords, APodWhoseRemovalIsNotOnDiskIsNotWithdrawn) {
  TestNode node;
  const auto before = node.StartWithWeb();
  node.files.SetFull("/state", true);
  node.Delete("/m/web.yaml");
  node.RunFor(1s);
  node.PutWorker(*before, v1::FINISHED, "Succeeded");
  node.RunFor(5s);
  EXPECT_EQ(node.Show(), "web-");
  node.files.SetFull("/state", false);
  node.RunFor(2s);
  EXPECT_EQ(node.Show(), "");
  node.Kill();
  node.Write("/m/web.yaml", Manifest("web"));
  node.StartAndRead();
  EXPECT_GT(node.Find("web")->incarnation(), before->incarnation());
}

TEST(ConfigSourceRecords, AFactThatCouldNotBeForgottenForAWhileLeavesNoErrorBehind) {
  TestNode node;
  node.StartWithWeb();
  node.Delete("/m/web.yaml");
  node.RunFor(1s);
  ASSERT_EQ(node.Show(), "web-");
  FailPoints points;
  FailPoints::SetCurrent(&points);
  ASSERT_TRUE(
      points.Set("config-source.forget-fact.before", "1*return(unavailable,disk)->off").ok());
  const std::string uid = node.Find("web")->uid();
  node.PutWorker(*node.Find("web"), v1::FINISHED);
  node.RunFor(100ms);
  ASSERT_EQ(node.Show(), "");
  node.workers.Remove(uid);
  node.RunFor(100ms);
  EXPECT_FALSE(node.process->service->GetHealth().ready);
  node.RunFor(3s);
  EXPECT_TRUE(node.process->service->GetHealth().ready);
  EXPECT_TRUE(node.files.List("/state/config-source")->empty());
}

TEST(ConfigSourceRecords, APodThatIsSavedDoesNotHideOneThatCannotBe) {
  TestNode node;
  node.StartWithWeb();
  FailPoints points;
  FailPoints::SetCurrent(&points);
  ASSERT_TRUE(points.Set("config-source.save-fact.before", "1*return(unavailable,disk)->off").ok());
  node.Write("/m/a.yaml", Manifest("a"));
  node.RunFor(100ms);
  node.Write("/m/b.yaml", Manifest("b"));
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "b web");
  EXPECT_FALSE(node.process->service->GetHealth().ready);
  node.RunFor(2s);
  EXPECT_EQ(node.Show(), "a b web");
  EXPECT_TRUE(node.process->service->GetHealth().ready);
}

}  // namespace
}  // namespace splitlet::config_source
