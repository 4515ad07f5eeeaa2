#include "services/config-source/sources/api/api_source.h"

#include <gtest/gtest.h>

#include "services/config-source/sources/api/api_fixture.h"

namespace splitlet::config_source {
namespace {

class ApiSourceTest : public testing::Test, public ApiNode {
 protected:
  /// With the pod "web" of the server.
  void StartWithApiPod() {
    PutNode();
    PutPod(ApiPod("web"));
    StartAndRead(5s);
    ASSERT_EQ(ShowApi(), "web");
    ASSERT_TRUE(Complete("api"));
  }
  /// How often the pods were asked for.
  int Count(const std::vector<fake_api::FakeApiServer::Seen>& seen, bool watch) const {
    return static_cast<int>(std::count_if(seen.begin(), seen.end(), [&](const auto& request) {
      return request.path.starts_with("/api/v1/pods?") &&
             (request.path.find("watch=") != std::string::npos) == watch;
    }));
  }
  int changes_ = 0;
  void CountChanges() {
    desired.OnChange([this](const auto&) { ++changes_; });
  }
};

TEST_F(ApiSourceTest, WithoutTheServerIncompleteThenEmptyAndComplete) {
  server.SetAway(true);
  Write("/m/local.yaml", Manifest("local"));
  StartAndRead(1min);
  EXPECT_FALSE(Complete("api"));
  EXPECT_TRUE(Complete("file")) << "a source that is away holds back none of another";
  ASSERT_NE(Find("local"), nullptr);
  ASSERT_EQ(SourceNamed("api").problems.size(), 1u);
  EXPECT_EQ(SourceNamed("api").place, "/etc/kubeconfig");
  EXPECT_TRUE(process->service->GetHealth().ready);
  server.SetAway(false);
  PutNode();
  RunFor(1min);
  EXPECT_TRUE(Complete("api"));
  EXPECT_EQ(ShowApi(), "");
  EXPECT_TRUE(SourceNamed("api").problems.empty());
}

TEST_F(ApiSourceTest, WaitsUntilTheServerHasTheNode) {
  PutPod(ApiPod("web"));
  StartAndRead(1min);
  EXPECT_EQ(ShowApi(), "");
  EXPECT_NE(SourceNamed("api").reason.find("does not have node node-a yet"), std::string::npos);
  PutNode();
  RunFor(10s);
  EXPECT_EQ(ShowApi(), "web");
  EXPECT_TRUE(Complete("api"));
}

TEST_F(ApiSourceTest, PodsOfOtherNodesAreNoneOfOurs) {
  kube::Pod other = ApiPod("other");
  other.mutable_spec()->set_node_name("node-b");
  PutPod(other);
  StartWithApiPod();
}

TEST_F(ApiSourceTest, WhatEachChangeIs) {
  StartWithApiPod();
  const auto first = FindApi("web");
  EXPECT_EQ(first->uid(), AtServer("web").metadata().uid());
  kube::Pod pod = AtServer("web");
  pod.mutable_metadata()->add_finalizers("example.com/f");
  CountChanges();
  PutPod(pod);
  RunFor(1s);
  EXPECT_EQ(FindApi("web")->generation(), first->generation()) << "finalizers mean nothing";
  EXPECT_EQ(changes_, 1) << "but the version";

  pod = AtServer("web");
  pod.mutable_status()->set_phase("Running");
  PutPod(pod);
  RunFor(1s);
  EXPECT_EQ(FindApi("web")->generation(), first->generation()) << "a status is no new generation";
  EXPECT_EQ(PodIn(*FindApi("web")).status().phase(), "Running");

  pod = AtServer("web");
  auto& debug = *pod.mutable_spec()->add_ephemeral_containers();
  debug.mutable_ephemeral_container_common()->set_name("debug");
  PutPod(pod);
  RunFor(1s);
  const auto edited = FindApi("web");
  EXPECT_GT(edited->generation(), first->generation());
  EXPECT_EQ(PodIn(*edited).spec().ephemeral_containers_size(), 1);

  server.Delete(PathOf("web"));
  RunFor(1s);
  const auto ending = FindApi("web");
  EXPECT_GT(ending->generation(), edited->generation());
  EXPECT_TRUE(PodIn(*ending).metadata().has_deletion_timestamp());
  EXPECT_EQ(ShowApi(), "web");

  server.Remove(PathOf("web"));
  RunFor(1s);
  EXPECT_EQ(ShowApi(), "web-");
  EXPECT_EQ(PodIn(*FindApi("web")).spec().containers(0).image(), "nginx:1") << "its last spec";
  EXPECT_EQ(FindApi("web")->incarnation(), first->incarnation());
  PutWorker(*FindApi("web"), v1::FINISHED);
  RunFor(1s);
  EXPECT_EQ(ShowApi(), "");
}

TEST_F(ApiSourceTest, WhileTheServerIsAwayNothingGoes) {
  StartWithApiPod();
  CountChanges();
  server.SetAway(true);
  RunFor(10min);
  EXPECT_EQ(changes_, 0);
  EXPECT_TRUE(Complete("api"));
  EXPECT_EQ(SourceNamed("api").problems.size(), 1u);
  PutPod(ApiPod("late"));
  server.Remove(PathOf("web"));
  server.SetAway(false);
  RunFor(2min);
  EXPECT_EQ(ShowApi(), "late web-");
  EXPECT_TRUE(SourceNamed("api").problems.empty());
}

TEST_F(ApiSourceTest, DeletedAndMadeAgainWhileTheServerWasAwayIsRemovedAndAdded) {
  StartWithApiPod();
  const std::string uid = AtServer("web").metadata().uid();
  server.SetAway(true);
  RunFor(10s);
  server.Remove(PathOf("web"));
  PutPod(ApiPod("web"));
  ASSERT_NE(AtServer("web").metadata().uid(), uid);
  server.SetAway(false);
  RunFor(2min);
  EXPECT_EQ(ShowApi(), "web web-");
  EXPECT_EQ(desired.Find(uid)->state(), v1::DesiredRecord::REMOVED);
  EXPECT_EQ(FindApi("web")->uid(), AtServer("web").metadata().uid());
}

TEST_F(ApiSourceTest, AWatchThatIsTooOldIsListedAgainAndRemovesNothing) {
  StartWithApiPod();
  server.SetAway(true);
  RunFor(10s);
  PutPod(ApiPod("late"));
  server.Compact();
  server.TakeSeen();
  server.SetAway(false);
  RunFor(2min);
  EXPECT_EQ(ShowApi(), "late web");
  EXPECT_GE(Count(server.TakeSeen(), /*watch=*/false), 1);
}

/// A pod that existed only between the two lists is gone; the version shows that there was one.
TEST_F(ApiSourceTest, AStatusThatSomebodyPutBackIsOfTheLaterVersion) {
  StartWithApiPod();
  const auto first = FindApi("web");
  server.SetAway(true);
  RunFor(10s);
  kube::Pod pod = AtServer("web");
  for (const char* phase : {"Running", ""}) {
    pod.mutable_status()->set_phase(phase);
    PutPod(pod);
  }
  server.Compact();
  server.SetAway(false);
  RunFor(2min);
  const auto again = FindApi("web");
  EXPECT_EQ(again->generation(), first->generation());
  EXPECT_NE(PodIn(*again).metadata().resource_version(),
            PodIn(*first).metadata().resource_version());
  EXPECT_EQ(PodIn(*again).metadata().resource_version(),
            AtServer("web").metadata().resource_version());
}

TEST_F(ApiSourceTest, AWatchThatEndsGoesOnWhereItWas) {
  StartWithApiPod();
  RunFor(10s);
  CountChanges();
  server.TakeSeen();
  server.EndWatches();
  RunFor(1min);
  const auto seen = server.TakeSeen();
  EXPECT_EQ(Count(seen, /*watch=*/false), 0);
  EXPECT_GE(Count(seen, /*watch=*/true), 1);
  EXPECT_EQ(changes_, 0);
}

TEST_F(ApiSourceTest, AMirrorPodIsShownAsOneAndGoesAtOnce) {
  kube::Pod mirror = ApiPod("local-node-a");
  auto& annotations = *mirror.mutable_metadata()->mutable_annotations();
  annotations["kubernetes.io/config.mirror"] = "h1";
  annotations["kubernetes.io/config.source"] = "file";
  PutPod(mirror);
  Write("/m/local.yaml", Manifest("local"));
  PutNode();
  StartAndRead(5s);
  EXPECT_EQ(ShowApi(), "local-node-a=");
  const auto record = FindApi("local-node-a");
  EXPECT_EQ(kube::SourceOf(PodIn(*record)), "api");
  EXPECT_EQ(kube::AnnotationOf(PodIn(*record), kube::kConfigMirror), "h1");
  Restart();
  RunFor(5s);
  EXPECT_EQ(ShowApi(), "local-node-a=");
  const auto records = files.List("/state/config-source");
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->size(), 1u) << "that of its static pod";
  server.Remove(PathOf("local-node-a"));
  RunFor(1s);
  EXPECT_EQ(ShowApi(), "") << "nothing has to end first";
  EXPECT_NE(Find("local"), nullptr);
}

TEST_F(ApiSourceTest, AfterARestartWithoutTheServerItsPodsStand) {
  StartWithApiPod();
  const auto before = FindApi("web");
  server.SetAway(true);
  Restart();
  RunFor(10min);
  EXPECT_EQ(ShowApi(), "web");
  EXPECT_FALSE(Complete("api"));
  EXPECT_EQ(FindApi("web")->generation(), before->generation());
  server.Remove(PathOf("web"));
  server.SetAway(false);
  RunFor(1min);
  EXPECT_EQ(ShowApi(), "web-") << "a pod that was deleted during the absence is removed";
}

TEST_F(ApiSourceTest, PodsOfAnotherBootAreUnconfirmedUntilTheServerHasThem) {
  PutPod(ApiPod("gone"));
  PutNode();
  PutPod(ApiPod("web"));
  StartAndRead(5s);
  ASSERT_EQ(ShowApi(), "gone web");
  const auto before = FindApi("web");
  server.SetAway(true);
  Reboot();
  Start();
  RunFor(10min);
  EXPECT_EQ(ShowApi(), "gone? web?");
  EXPECT_FALSE(Complete("api"));
  Restart();
  RunFor(1min);
  EXPECT_EQ(ShowApi(), "gone? web?") << "a restart confirms nothing";
  server.Remove(PathOf("gone"));
  server.SetAway(false);
  RunFor(1min);
  EXPECT_EQ(ShowApi(), "gone- web");
  EXPECT_EQ(FindApi("web")->incarnation(), before->incarnation());
  server.SetAway(true);
  Restart();
  RunFor(10s);
  EXPECT_EQ(ShowApi(), "gone- web") << "confirmed in this boot";
}

TEST_F(ApiSourceTest, OfflineStartConfirmsThemAfterAMinuteButForSome) {
  config.offline_start = true;
  PutNode();
  PutPod(ApiPod("web"));
  PutPod(ApiPod("ending"));
  kube::Pod of_set = ApiPod("db-0");
  of_set.mutable_metadata()->add_owner_references()->set_kind("StatefulSet");
  of_set.mutable_metadata()->mutable_owner_references(0)->set_name("db");
  PutPod(of_set);
  of_set.mutable_metadata()->set_name("log-0");
  (*of_set.mutable_metadata()->mutable_annotations())["splitlet.dev/offline-start"] = "true";
  PutPod(of_set);
  StartAndRead(5s);
  server.Delete(PathOf("ending"));
  RunFor(1s);
  server.SetAway(true);
  Reboot();
  Start();
  RunFor(50s);
  EXPECT_EQ(ShowApi(), "db-0? ending? log-0? web?");
  RunFor(30s);
  EXPECT_EQ(ShowApi(), "db-0? ending? log-0 web");
  EXPECT_FALSE(Complete("api")) << "nothing is removed for it";
  Restart();
  RunFor(5s);
  EXPECT_EQ(ShowApi(), "db-0? ending? log-0 web") << "in this boot they stay started";
  server.Remove(PathOf("web"));
  server.SetAway(false);
  RunFor(1min);
  EXPECT_EQ(ShowApi(), "db-0 ending log-0 web-");
}

TEST_F(ApiSourceTest, AServerThatAnswersIsNotAway) {
  config.offline_start = true;
  StartWithApiPod();
  Reboot();
  server.Remove("/api/v1/nodes/node-a");
  Start();
  RunFor(10min);
  EXPECT_EQ(ShowApi(), "web?");
}

TEST_F(ApiSourceTest, WhatAnswersInsteadOfTheServerIsNotTheServer) {
  config.offline_start = true;
  StartWithApiPod();
  for (const int code : {200, 403, 404}) {
    Reboot();
    server.Inject({.code = code, .body = "<html>sign in</html>"});
    Start();
    RunFor(50s);
    EXPECT_EQ(ShowApi(), "web?") << code;
    RunFor(30s);
    EXPECT_EQ(ShowApi(), "web") << code;
    server.ClearFaults();
  }
}

TEST_F(ApiSourceTest, APodThatCannotBeUsedKeepsItsLastGoodVersion) {
  StartWithApiPod();
  kube::Pod bad = AtServer("web");
  bad.mutable_spec()->mutable_containers(0)->set_image(std::string("a\0b", 3));
  PutPod(bad);
  RunFor(1s);
  EXPECT_EQ(ShowApi(), "web!");
  const auto problems = [this] { return LogLines("source of pods has a problem"); };
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_TRUE(problems()[0].starts_with("source=api where=default/web err=")) << problems()[0];
  EXPECT_EQ(PodIn(*FindApi("web")).spec().containers(0).image(), "nginx:1");
  bad.mutable_metadata()->set_name("new");
  PutPod(bad);
  RunFor(1s);
  EXPECT_EQ(ShowApi(), "web!");
  EXPECT_FALSE(Complete("api")) << "an earlier incarnation may run";
  EXPECT_EQ(problems().size(), 2u);
  server.Remove(PathOf("new"));
  bad = AtServer("web");
  bad.mutable_spec()->mutable_containers(0)->set_image("nginx:2");
  PutPod(bad);
  RunFor(1s);
  EXPECT_EQ(ShowApi(), "web");
  EXPECT_TRUE(Complete("api"));
  EXPECT_EQ(problems().size(), 2u);
  EXPECT_EQ(LogLines("a problem of a source of pods is over"),
            std::vector<std::string>{"source=api where=default/web "});
  EXPECT_EQ(LogLines("a problem of a source of pods is over, its manifest or pod is gone"),
            std::vector<std::string>{"source=api where=default/new "});
}

TEST_F(ApiSourceTest, APodThatHasEndedIsPutAsItIs) {
  PutNode();
  kube::Pod done = ApiPod("done");
  done.mutable_status()->set_phase("Succeeded");
  PutPod(done);
  StartAndRead(5s);
  EXPECT_EQ(ShowApi(), "done");
  EXPECT_EQ(PodIn(*FindApi("done")).status().phase(), "Succeeded") << "sync-loop starts no such";
}

}  // namespace
}  // namespace splitlet::config_source
