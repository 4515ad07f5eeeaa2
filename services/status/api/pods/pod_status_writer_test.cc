#include "services/status/api/pods/pod_status_writer.h"

#include <gmock/gmock.h>

#include "services/status/api/api_fixture.h"

namespace splitlet::status {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Strings = std::vector<std::string>;

const std::string kWrite = "PATCH " + kPods + "/web/status";
const std::string kDelete = "DELETE " + kPods + "/web";

class PodStatusWriterTest : public ApiTest {
 protected:
  /// Known to the server as Running.
  std::string Running(const std::string& name = "web") {
    const std::string uid = CreatePod(name);
    Run(1s);
    Publish(uid, name, "Running");
    Run(1s);
    EXPECT_EQ(AtServer(name).status().phase(), "Running");
    server.TakeSeen();
    return uid;
  }
  /// As another client that may write statuses.
  void Edit(const std::string& name, const std::function<void(kube::PodStatus&)>& edit) {
    kube::Pod pod = AtServer(name);
    edit(*pod.mutable_status());
    server.Put(kPods + "/" + name, pod);
  }
};

TEST_F(PodStatusWriterTest, AStatusIsWrittenOnceWithTheUidAndNotReadBefore) {
  Start();
  const std::string uid = CreatePod("web");
  Run(1s);
  server.TakeSeen();
  Publish(uid, "web", "Running");
  Run(1s);
  const auto seen = server.TakeSeen();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].method + " " + seen[0].path, kWrite);
  EXPECT_THAT(seen[0].body, HasSubstr(R"("metadata":{"uid":")" + uid + "\"}"));
  EXPECT_THAT(seen[0].content_type, HasSubstr("strategic-merge-patch"));
  EXPECT_EQ(AtServer("web").status().pod_ip(), "10.0.0.7");
  Run(60s);
  EXPECT_THAT(server.TakeSeen(), IsEmpty()) << "a quiet node asks nothing";
}

TEST_F(PodStatusWriterTest, ConditionsOfOthersStayAndEqualContentIsNoPatch) {
  Start();
  const std::string uid = Running();
  Edit("web", [](kube::PodStatus& status) {
    auto* condition = status.add_conditions();
    condition->set_type("example.com/gate");
    condition->set_status("True");
  });
  Run(20s);
  EXPECT_THAT(Calls(), IsEmpty());
  Publish(uid, "web", "Running");  // another version of the record, the same content
  Run(20s);
  EXPECT_THAT(Calls(), IsEmpty());
  auto status = MakeStatus("Running");
  status.set_message("changed");
  Publish(uid, "web", status);
  Run(1s);
  EXPECT_EQ(Calls(), Strings{kWrite});
  Strings types;
  const kube::Pod merged = AtServer("web");
  for (const auto& condition : merged.status().conditions()) types.push_back(condition.type());
  EXPECT_THAT(types, ::testing::Contains("example.com/gate"));
  EXPECT_EQ(types.size(), 4U);
}

TEST_F(PodStatusWriterTest, AServerThatWasRestoredIsToldAgain) {
  Start();
  const std::string uid = Running();
  Run(10s);
  follows = false;
  Edit("web", [](kube::PodStatus& status) { status = MakeStatus("Pending"); });
  kube::Pod restored = AtServer("web");
  restored.mutable_metadata()->set_resource_version("1");  // lower than any that was seen
  PutDesired(restored, "api", v1::DesiredRecord::WANTED);
  Run(15s);
  EXPECT_EQ(Calls(), Strings{kWrite});
  EXPECT_EQ(AtServer("web").status().phase(), "Running");
}

TEST_F(PodStatusWriterTest, OfSeveralChangesTheLatestIsWritten) {
  Start();
  const std::string uid = Running();
  server.SetAway(true);
  for (int i = 0; i < 50; ++i) {
    auto status = MakeStatus("Running");
    status.set_message(std::to_string(i));
    Publish(uid, "web", status);
    Run(1s);
  }
  server.TakeSeen();
  server.SetAway(false);
  Run(40s);
  EXPECT_EQ(AtServer("web").status().message(), "49");
  EXPECT_EQ(Calls(), Strings{kWrite});
}

TEST_F(PodStatusWriterTest, APodThatIsGoneIsNotPatchedAndNotAskedForAgain) {
  Start();
  const std::string uid = Running();
  follows = false;
  server.Remove(kPods + "/web");
  Publish(uid, "web", "Failed");
  Run(60s);
  EXPECT_EQ(Calls(), Strings{kWrite}) << "the server answered not found";
  EXPECT_THAT(server.List(kPods), IsEmpty());
}

TEST_F(PodStatusWriterTest, AnErrorIsTriedAgainWithABackOff) {
  Start();
  const std::string uid = Running();
  server.Inject({.method = "PATCH", .prefix = kPods, .times = 3, .code = 500});
  Publish(uid, "web", "Failed");
  Run(500ms);
  EXPECT_EQ(AtServer("web").status().phase(), "Running");
  Run(15s);
  EXPECT_EQ(AtServer("web").status().phase(), "Failed");
  EXPECT_EQ(Calls().size(), 4U);
}

/// Answers of a balancer, a proxy or a start page in place of the server.
fake_api::FakeApiServer::Fault OfSomethingElse(const std::string& method, int code) {
  return {.method = method,
          .prefix = kPods,
          .times = 2,
          .code = code,
          .body = code == 200 ? "<html>welcome</html>" : "404 page not found\n",
          .content_type = "text/plain"};
}

TEST_F(PodStatusWriterTest, APodIsNotGoneByTheWordOfSomethingInFrontOfTheServer) {
  Start();
  const std::string uid = Running();
  for (const int code : {404, 409, 410, 200}) {
    const std::string message = std::to_string(code);
    server.Inject(OfSomethingElse("PATCH", code));
    kube::PodStatus status;
    status.set_phase("Running");
    status.set_message(message);
    Publish(uid, "web", status);
    Run(500ms);
    EXPECT_NE(AtServer("web").status().message(), message);
    Run(15s);
    EXPECT_EQ(AtServer("web").status().message(), message) << "the status was not written";
  }
}

TEST_F(PodStatusWriterTest, ReadAfterARestartAPodIsNotGoneByTheWordOfSomethingElse) {
  Start();
  const std::string uid = Running();
  for (const int code : {404, 200}) {
    Kill();
    server.Inject(OfSomethingElse("GET", code));
    Publish(uid, "web", code == 404 ? "Pending" : "Failed");
    Start();
    Run(15s);
    EXPECT_EQ(AtServer("web").status().phase(), code == 404 ? "Pending" : "Failed");
  }
}

TEST_F(PodStatusWriterTest, APodIsNotDeletedByTheWordOfSomethingElse) {
  for (const int code : {404, 409, 200}) {
    Start();
    const std::string uid = Running();
    server.Inject(OfSomethingElse("DELETE", code));
    server.Delete(kPods + "/web");
    Run(1s);
    Finish(uid, "web", "Succeeded");
    Run(500ms);
    EXPECT_TRUE(server.Has(kPods + "/web"));
    Run(20s);
    EXPECT_FALSE(server.Has(kPods + "/web")) << code;
    Kill();
    published.clear();
  }
}

TEST_F(PodStatusWriterTest, APodOfAnotherUidIsNotWritten) {
  Start();
  const std::string uid = Running();
  follows = false;
  server.Remove(kPods + "/web");
  CreatePod("web");
  server.TakeSeen();
  Publish(uid, "web", "Failed");
  Run(60s);
  EXPECT_EQ(AtServer("web").status().phase(), "Pending");
  EXPECT_EQ(Calls(), Strings{kWrite}) << "refused for its UID";
  Kill();
  Start();
  Run(60s);
  EXPECT_EQ(AtServer("web").status().phase(), "Pending");
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(PodStatusWriterTest, AnEditOfAnotherClientIsWrittenOverWithTheNextPass) {
  Start();
  Running();
  Edit("web", [](kube::PodStatus& status) {
    status.set_pod_ip("6.6.6.6");
    status.mutable_conditions(0)->set_status("False");
    status.clear_container_statuses();
  });
  Run(12s);
  EXPECT_EQ(AtServer("web").status().pod_ip(), "10.0.0.7");
  EXPECT_EQ(AtServer("web").status().container_statuses_size(), 1);
  EXPECT_EQ(Calls(), Strings{kWrite});
  Run(30s);
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(PodStatusWriterTest, WhatWasSeenBeforeTheLastAnswerIsNoEditOfAnotherClient) {
  Start();
  const std::string uid = Running();
  follows = false;  // `desired` is behind
  Publish(uid, "web", "Succeeded");
  Run(1s);
  ASSERT_EQ(Calls(), Strings{kWrite});
  kube::Pod old = AtServer("web");
  old.mutable_metadata()->set_resource_version("1");
  old.mutable_status()->set_phase("Pending");
  PutDesired(old, "api", v1::DesiredRecord::WANTED);
  Run(30s);
  // It is read once: the server may have been restored from a copy.
  for (const auto& seen : server.TakeSeen()) EXPECT_EQ(seen.method, "GET") << seen.path;
  EXPECT_EQ(AtServer("web").status().phase(), "Succeeded");
}

TEST_F(PodStatusWriterTest, ATerminalPhaseIsNeverLeft) {
  Start();
  const std::string uid = Running();
  Publish(uid, "web", "Succeeded");
  Run(1s);
  Publish(uid, "web", "Running");
  Run(20s);
  EXPECT_EQ(AtServer("web").status().phase(), "Succeeded");
  Kill();
  Start();
  Run(20s);
  EXPECT_EQ(AtServer("web").status().phase(), "Succeeded");
}

TEST_F(PodStatusWriterTest, ADeletedPodGoesOnlyWhenItIsToldTerminalAndFinished) {
  Start();
  const std::string uid = Running();
  server.Delete(kPods + "/web");
  Run(20s);
  Publish(uid, "web", "Succeeded");
  Run(20s);
  EXPECT_TRUE(server.Has(kPods + "/web")) << "its worker has not finished";
  Publish(uid, "web", "Succeeded", true);
  Run(20s);
  EXPECT_TRUE(server.Has(kPods + "/web")) << "pod-worker, when asked, does not say so";
  finished->finished[uid] = 2;
  Run(40s);
  EXPECT_TRUE(server.Has(kPods + "/web")) << "another incarnation is finished";
  finished->answer = Unavailable("no pod-worker");
  finished->finished[uid] = 1;
  Run(40s);
  EXPECT_TRUE(server.Has(kPods + "/web"));
  server.TakeSeen();
  finished->answer = OkStatus();
  Run(40s);
  EXPECT_FALSE(server.Has(kPods + "/web"));
  EXPECT_EQ(Calls(), Strings{kDelete});
  EXPECT_THAT(last_body, HasSubstr(uid));
  EXPECT_THAT(last_body, HasSubstr(R"("gracePeriodSeconds":0)"));
}

TEST_F(PodStatusWriterTest, APodThatNobodyDeletedStays) {
  Start();
  const std::string uid = Running();
  Finish(uid, "web", "Succeeded");
  Run(60s);
  EXPECT_EQ(AtServer("web").status().phase(), "Succeeded");
  EXPECT_EQ(Calls(), Strings{kWrite});
  server.Delete(kPods + "/web");  // finished long ago: deleted immediately
  Run(2s);
  EXPECT_FALSE(server.Has(kPods + "/web"));
}

TEST_F(PodStatusWriterTest, ARejectedPodIsFailedAndGoesWhenItIsDeleted) {
  Start();
  const std::string uid = CreatePod("web");
  Run(1s);
  kube::PodStatus rejected;
  rejected.set_phase("Failed");
  rejected.set_reason("OutOfcpu");
  rejected.set_message("Pod was rejected: Node didn't have enough resource: cpu");
  Publish(uid, "web", rejected);
  Run(1s);
  EXPECT_EQ(AtServer("web").status().reason(), "OutOfcpu");
  const std::string other = CreatePod("other");
  Run(1s);
  server.Delete(kPods +
                "/other");  // deleted before its status was written, so that the server waits
  Publish(other, "other", rejected);
  Run(20s);
  EXPECT_EQ(AtServer("other").status().phase(), "Failed");
  finished->finished[other] = 1;
  Publish(other, "other", rejected, true);
  Run(2s);
  EXPECT_FALSE(server.Has(kPods + "/other"));
  server.Delete(kPods + "/web");
  Run(2s);
  EXPECT_FALSE(server.Has(kPods + "/web"));
}

TEST_F(PodStatusWriterTest, ADeleteThatFailedIsRepeated) {
  Start();
  const std::string uid = Running();
  server.Inject({.method = "DELETE", .prefix = kPods, .times = 2, .code = 500});
  server.Delete(kPods + "/web");
  Run(1s);
  Finish(uid, "web", "Succeeded");
  Run(20s);
  EXPECT_FALSE(server.Has(kPods + "/web"));
}

TEST_F(PodStatusWriterTest, ADeleteOfAnotherUidIsNoDelete) {
  Start();
  const std::string uid = Running();
  server.Delete(kPods + "/web");
  Run(1s);
  Publish(uid, "web", "Succeeded", true);
  Run(3s);
  follows = false;
  server.Remove(kPods + "/web");
  CreatePod("web");
  finished->finished[uid] = 1;
  Run(60s);
  EXPECT_TRUE(server.Has(kPods + "/web"));
  EXPECT_FALSE(AtServer("web").metadata().has_deletion_timestamp());
}

TEST_F(PodStatusWriterTest, AStaticPodWithoutMirrorMakesNoCall) {
  node_uid.clear();
  Start();
  WantStatic("static-node-a", "hash1");
  Publish("hash1", "static-node-a", "Running");
  Run(60s);
  EXPECT_THAT(server.TakeSeen(), IsEmpty());
  process->pods->OnNode("node-uid");
  Run(2s);
  EXPECT_EQ(AtServer("static-node-a").status().phase(), "Running");
}

TEST_F(PodStatusWriterTest, AMirrorPodIsNeverDeletedAsFinished) {
  Start();
  WantStatic("static-node-a", "hash1");
  Run(1s);
  const std::string mirror = AtServer("static-node-a").metadata().uid();
  finished->finished["hash1"] = 1;
  finished->finished[mirror] = 1;
  Publish("hash1", "static-node-a", "Succeeded", true);
  Run(30s);
  EXPECT_EQ(AtServer("static-node-a").metadata().uid(), mirror);
  EXPECT_EQ(AtServer("static-node-a").status().phase(), "Succeeded");
  EXPECT_THAT(Calls("DELETE"), IsEmpty());
  Publish("hash1", "static-node-a", "Running");  // in another incarnation
  Run(1s);
  EXPECT_EQ(AtServer("static-node-a").status().phase(), "Running");
}

TEST_F(PodStatusWriterTest, AStartReadsEachPodOnceAndPatchesNothing) {
  Start();
  Running("web");
  Running("other");
  Kill();
  server.TakeSeen();
  Start();
  Run(30s);
  const auto seen = server.TakeSeen();
  EXPECT_EQ(seen.size(), 2U);
  for (const auto& one : seen) EXPECT_EQ(one.method, "GET");
}

TEST_F(PodStatusWriterTest, TheServerIsAwayForTenMinutes) {
  Start();
  const std::string kept = Running("kept"), gone = Running("gone"), ended = Running("ended");
  const std::string fresh = CreatePod("fresh");
  server.Delete(kPods + "/gone");
  server.Delete(kPods + "/ended");
  Run(1s);
  server.SetAway(true);
  follows = false;
  Publish(fresh, "fresh", "Pending");
  Finish(gone, "gone", "Succeeded");
  Publish(ended, "ended", "Failed");
  for (int i = 0; i < 600; ++i) {
    auto status = MakeStatus("Running");
    status.mutable_container_statuses(0)->set_restart_count(i);
    Publish(kept, "kept", status);
    if (i == 300) Publish(fresh, "fresh", "Running");
    Run(1s);
  }
  const auto retry = server.TakeSeen().size();
  EXPECT_LT(retry, 4U * 2U * 40U) << "a back-off holds for each pod";
  server.SetAway(false);
  follows = true;
  Run(40s);
  EXPECT_FALSE(server.Has(kPods + "/gone"));
  EXPECT_EQ(AtServer("ended").status().phase(), "Failed");
  EXPECT_EQ(AtServer("fresh").status().phase(), "Running");
  EXPECT_EQ(AtServer("kept").status().container_statuses(0).restart_count(), 599);
}

TEST_F(PodStatusWriterTest, LostAnswersChangeNothingInTheEnd) {
  Start();
  const std::string uid = Running();
  server.Inject({.method = "PATCH", .times = 2, .after_effect = true});
  server.Inject({.method = "DELETE", .times = 1, .after_effect = true});
  Publish(uid, "web", "Succeeded");
  Run(10s);
  EXPECT_EQ(AtServer("web").status().phase(), "Succeeded");
  server.Delete(kPods + "/web");
  Run(1s);
  Finish(uid, "web", "Succeeded");
  follows = false;
  Run(20s);
  EXPECT_FALSE(server.Has(kPods + "/web"));
  Run(60s);
  server.TakeSeen();
  Run(60s);
  EXPECT_THAT(server.TakeSeen(), IsEmpty());
}

/// A process that dies at a fail point, and a supervisor.
class PodStatusWriterCrash : public PodStatusWriterTest {
 protected:
  PodStatusWriterCrash() { FailPoints::SetCurrent(&points); }
  void RunSupervised(Duration duration) {
    for (Duration past{0}; past < duration; past += 100ms) {
      if (!all.alive(process->owner)) {
        ++deaths;
        process.reset();
        Start();
      }
      Run(100ms);
    }
  }
  FailPoints points{{.crash = [] { throw exec::Scheduler::CrashedHere(); }, .delay = {}}};
  int deaths = 0;
};

TEST_F(PodStatusWriterCrash, KilledAroundEachCallNothingIsLostAndNobodyComesBack) {
  for (const char* point :
       {"status.patch-pod.before", "status.patch-pod.after", "status.delete-pod.before",
        "status.delete-pod.after", "status.create-mirror.before", "status.create-mirror.after",
        "status.delete-mirror.before", "status.delete-mirror.after"}) {
    SCOPED_TRACE(point);
    deaths = 0;
    Start();
    ASSERT_TRUE(points.Set(point, "1*crash->off").ok());
    const std::string job = CreatePod("job"), web = CreatePod("web");
    WantStatic("static-node-a", "hash1");
    WantStatic("old-node-a", "hash2");
    Publish("hash1", "static-node-a", "Running");
    Publish(web, "web", "Running");
    Publish(job, "job", "Running");
    RunSupervised(10s);
    Publish(job, "job", "Succeeded");
    RunSupervised(10s);
    server.Delete(kPods + "/web");
    RunSupervised(1s);
    Finish(web, "web", "Succeeded");
    desired_rows.Remove("hash2");
    RunSupervised(70s);
    EXPECT_EQ(deaths, 1);
    EXPECT_FALSE(server.Has(kPods + "/web"));
    EXPECT_FALSE(server.Has(kPods + "/old-node-a"));
    EXPECT_EQ(AtServer("job").status().phase(), "Succeeded");
    EXPECT_EQ(AtServer("static-node-a").status().phase(), "Running");
    EXPECT_EQ(server.List(kPods).size(), 2U);
    Kill();
    for (const auto& path : server.List(kPods)) server.Remove(path);
    desired_rows.Remove("hash1");
    published.clear();
    Follow();
  }
}

}  // namespace
}  // namespace splitlet::status
