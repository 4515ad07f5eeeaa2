#include "services/status/api/mirror/mirror_pods.h"

#include <gmock/gmock.h>

#include "services/status/api/api_fixture.h"

namespace splitlet::status {
namespace {

using ::testing::IsEmpty;

const std::string kWebPath = kPods + "/web-node-a";

TEST(NextMirrorAct, EveryCase) {
  const std::string wanted = "hash1";
  const Mirror same{.hash = "hash1"}, other{.hash = "hash0"},
      ending{.hash = "hash1", .deleting = true};
  const struct {
    const char* name;
    MirrorInputs inputs;
    MirrorAct want;
  } kCases[] = {
      {"none, and none wanted", {}, MirrorAct::kNone},
      {"wanted before the node is registered", {.wanted = &wanted}, MirrorAct::kNone},
      {"wanted", {.wanted = &wanted, .node_known = true}, MirrorAct::kMake},
      {"there", {.wanted = &wanted, .mirror = &same, .node_known = true}, MirrorAct::kNone},
      {"of another hash",
       {.wanted = &wanted, .mirror = &other, .node_known = true},
       MirrorAct::kDelete},
      {"of another hash whose containers still end",
       {.wanted = &wanted, .mirror = &other, .node_known = true, .still_ends = true},
       MirrorAct::kNone},
      {"a client deletes it", {.wanted = &wanted, .mirror = &ending}, MirrorAct::kDelete},
      {"no source wants it, as far as is known", {.mirror = &same}, MirrorAct::kNone},
      {"no source wants it", {.mirror = &same, .certain = true}, MirrorAct::kDelete},
      {"no source wants it, and its containers still end",
       {.mirror = &same, .still_ends = true, .certain = true},
       MirrorAct::kNone},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(NextMirrorAct(c.inputs), c.want);
  }
}

class MirrorPodsTest : public ApiTest {
 protected:
  std::string HashAtServer() const {
    return kube::AnnotationOf(AtServer("web-node-a"), kube::kConfigMirror);
  }
  std::string UidAtServer() const { return AtServer("web-node-a").metadata().uid(); }
  /// As config-source, when a static pod has ended for good.
  void Forget(const std::string& hash) { desired_rows.Remove(hash); }
};

TEST_F(MirrorPodsTest, IsTheStaticPodOwnedByTheNode) {
  Start();
  WantStatic("web-node-a", "hash1");
  Run(1s);
  const kube::Pod pod = AtServer("web-node-a");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigMirror), "hash1");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigHash), "hash1");
  EXPECT_EQ(kube::AnnotationOf(pod, kube::kConfigSource), "file");
  EXPECT_EQ(pod.spec().node_name(), "node-a");
  ASSERT_EQ(pod.metadata().owner_references_size(), 1);
  const auto& reference = pod.metadata().owner_references(0);
  EXPECT_EQ(reference.api_version() + " " + reference.kind() + " " + reference.name() + " " +
                reference.uid(),
            "v1 Node node-a node-uid");
  EXPECT_TRUE(reference.controller());
  EXPECT_NE(pod.metadata().uid(), "hash1");
}

TEST_F(MirrorPodsTest, IsMadeOnceTheNodeIsRegisteredAndOnlyOnce) {
  node_uid.clear();
  Start();
  WantStatic("web-node-a", "hash1");
  Run(30s);
  EXPECT_THAT(server.List(kPods), IsEmpty());
  process->pods->OnNode("node-uid");
  Run(1s);
  const std::string uid = UidAtServer();
  EXPECT_EQ(Calls("POST").size(), 1U);
  Run(60s);
  Kill();
  node_uid = "node-uid";
  Start();
  Run(60s);
  EXPECT_EQ(UidAtServer(), uid);
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(MirrorPodsTest, TheStatusOfTheStaticPodGoesToIt) {
  Start();
  WantStatic("web-node-a", "hash1");
  Publish("hash1", "web-node-a", "Running");
  follows = false;  // before anybody has shown it
  Run(1s);
  EXPECT_EQ(AtServer("web-node-a").status().phase(), "Running");
  follows = true;
  Run(30s);
  EXPECT_EQ(Calls().size(), 2U) << "made, and one patch";
}

TEST_F(MirrorPodsTest, OneThatDiffersIsReplaced) {
  Start();
  WantStatic("web-node-a", "hash1");
  Run(1s);
  const std::string before = UidAtServer();
  Forget("hash1");
  WantStatic("web-node-a", "hash2");
  Run(2s);
  EXPECT_EQ(HashAtServer(), "hash2");
  EXPECT_NE(UidAtServer(), before);
  Publish("hash2", "web-node-a", "Running");
  Run(1s);
  EXPECT_EQ(AtServer("web-node-a").status().phase(), "Running");
}

TEST_F(MirrorPodsTest, OneThatDiffersAndIsNotShownYetIsFoundAndReplaced) {
  Start();
  WantStatic("web-node-a", "hash1");
  Run(1s);
  Kill();
  follows = false;
  for (const auto& uid : followed) desired_rows.Remove(uid);
  followed.clear();
  Forget("hash1");
  WantStatic("web-node-a", "hash2");
  Start();
  Run(2s);
  EXPECT_EQ(HashAtServer(), "hash2");
}

TEST_F(MirrorPodsTest, DeletedByAUserItIsMadeAgain) {
  Start();
  WantStatic("web-node-a", "hash1");
  Publish("hash1", "web-node-a", "Running");
  Run(1s);
  for (const bool at_once : {false, true}) {
    const std::string before = UidAtServer();
    at_once ? server.Remove(kWebPath) : server.Delete(kWebPath);
    Run(3s);
    EXPECT_NE(UidAtServer(), before);
    EXPECT_FALSE(AtServer("web-node-a").metadata().has_deletion_timestamp());
    EXPECT_EQ(AtServer("web-node-a").status().phase(), "Running");
  }
}

TEST_F(MirrorPodsTest, MadeAgainWhileTheOldOneIsReadItGetsTheStatusToo) {
  Start();
  WantStatic("web-node-a", "hash1");
  Publish("hash1", "web-node-a", "Running");
  Run(1s);
  const std::string before = UidAtServer();
  Kill();
  server.Inject({.method = "GET", .prefix = kWebPath, .hang = true});
  other_loop.RunAfter(2s, [this] {
    server.Remove(kWebPath);
    Follow();
  });
  other_loop.RunAfter(3s, [this] {
    Follow();
    follows = false;  // nothing more is to be seen of it
  });
  other_loop.RunAfter(4s, [this, before] {
    EXPECT_NE(UidAtServer(), before);
    EXPECT_NE(UidAtServer(), "");
    server.ClearFaults();
  });
  Start();
  Run(5s);
  EXPECT_EQ(AtServer("web-node-a").status().phase(), "Running");
}

TEST_F(MirrorPodsTest, StaysUntilTheContainersOfItsStaticPodHaveStopped) {
  Start();
  WantStatic("web-node-a", "hash1");
  Work("hash1", v1::SYNCING);
  Run(1s);
  WantStatic("web-node-a", "hash1", v1::DesiredRecord::REMOVED);
  Work("hash1", v1::TERMINATING);
  Run(30s);
  EXPECT_TRUE(server.Has(kWebPath));
  Forget("hash1");
  Run(30s);
  EXPECT_TRUE(server.Has(kWebPath)) << "its worker has not finished";
  Work("hash1", v1::FINISHED);
  Run(12s);
  EXPECT_FALSE(server.Has(kWebPath));
}

TEST_F(MirrorPodsTest, OfAnEditedPodTheOldOneStaysUntilTheOldContainersHaveStopped) {
  Start();
  WantStatic("web-node-a", "hash1");
  Work("hash1", v1::SYNCING);
  Run(1s);
  WantStatic("web-node-a", "hash1", v1::DesiredRecord::REMOVED);
  WantStatic("web-node-a", "hash2");
  Work("hash2", v1::SYNCING);
  Run(20s);
  EXPECT_EQ(HashAtServer(), "hash1");
  Work("hash1", v1::FINISHED);
  Forget("hash1");
  Run(12s);
  EXPECT_EQ(HashAtServer(), "hash2");
}

TEST_F(MirrorPodsTest, NoneGoesWhileItIsNotCertainThatNobodyWantsIt) {
  Start();
  WantStatic("web-node-a", "hash1");
  Run(1s);
  desired_rows.SetComplete({.scopes = {"api", "http"}});
  Run(4s);
  Forget("hash1");
  Run(30s);
  EXPECT_TRUE(server.Has(kWebPath)) << "a source is incomplete";
  desired_rows.SetComplete({.scopes = {std::string(bus::kAll)}});
  static_known = true;
  Run(30s);
  EXPECT_TRUE(server.Has(kWebPath)) << "config-source, when asked, wants it";
  static_known = false;
  Run(12s);
  EXPECT_FALSE(server.Has(kWebPath));
}

TEST_F(MirrorPodsTest, OfAPodThatWasRemovedItGoesWhateverIsIncomplete) {
  Start();
  WantStatic("web-node-a", "hash1");
  Run(1s);
  desired_rows.SetComplete({.scopes = {"api", "http"}});
  v1::WorkerRecord worker;
  worker.set_uid("hash1");
  worker.set_incarnation(1);
  worker.set_state(v1::FINISHED);
  ASSERT_TRUE(worker_rows.Put("hash1", worker).ok());
  Forget("hash1");
  Run(30s);
  EXPECT_TRUE(server.Has(kWebPath)) << "no process says that it was removed";
  worker.set_removed(true);
  ASSERT_TRUE(worker_rows.Put("hash1", worker).ok());
  Run(70s);
  EXPECT_FALSE(server.Has(kWebPath));
}

TEST_F(MirrorPodsTest, APodOfItsNameThatMirrorsNoneIsLeftAlone) {
  const std::string uid = CreatePod("web-node-a");
  Start();
  WantStatic("web-node-a", "hash1");
  Publish("hash1", "web-node-a", "Running");
  Run(200s);
  EXPECT_EQ(UidAtServer(), uid);
  EXPECT_EQ(AtServer("web-node-a").status().phase(), "Pending");
  EXPECT_LT(Calls().size(), 15U) << "it is tried again with a back-off";
  server.Remove(kWebPath);
  Run(70s);
  EXPECT_EQ(HashAtServer(), "hash1");
}

TEST_F(MirrorPodsTest, LostAnswersMakeNoSecondOne) {
  Start();
  server.Inject({.method = "POST", .prefix = kPods, .times = 1, .after_effect = true});
  WantStatic("web-node-a", "hash1");
  follows = false;
  Run(5s);
  const std::string uid = UidAtServer();
  follows = true;
  Run(70s);
  EXPECT_EQ(UidAtServer(), uid);
  server.Inject({.method = "DELETE", .times = 3, .after_effect = true});
  Forget("hash1");
  Run(30s);
  EXPECT_FALSE(server.Has(kWebPath));
}

TEST_F(MirrorPodsTest, TheServerIsAwayAtTheStart) {
  server.SetAway(true);
  Start();
  WantStatic("web-node-a", "hash1");
  Publish("hash1", "web-node-a", "Running");
  Run(600s);
  EXPECT_LT(server.TakeSeen().size(), 20U);
  server.SetAway(false);
  Run(70s);
  EXPECT_EQ(AtServer("web-node-a").status().phase(), "Running");
}

}  // namespace
}  // namespace splitlet::status
