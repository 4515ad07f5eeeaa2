#include "services/config-source/config_source_fixture.h"

/// Files beside the manifests that are none, or of a pod that another one is of.

namespace splitlet::config_source {
namespace {

class StrayFiles : public testing::Test, public TestNode {};

TEST_F(StrayFiles, AProblemThatIsOverIsLoggedWithWhatEndedIt) {
  Write("/m/a.yaml", "half");
  Write("/m/b.yaml", "half");
  Write("/m/c.yaml", Manifest("web"));
  Write("/m/c.yaml~", Manifest("web"));
  StartAndRead(1s);
  ASSERT_EQ(LogLines("source of pods has a problem").size(), 3u);
  Delete("/m/a.yaml");
  Write("/m/b.yaml", Manifest("good"));
  Delete("/m/c.yaml~");
  RunFor(1s);
  EXPECT_EQ(
      LogLines("a problem of a source of pods is over, its manifest or pod is gone"),
      (std::vector<std::string>{"source=file where=/m/a.yaml ", "source=file where=/m/c.yaml~ "}));
  EXPECT_EQ(LogLines("a problem of a source of pods is over"),
            (std::vector<std::string>{"source=file where=/m/b.yaml "}));
}

TEST_F(StrayFiles, ASecondManifestOfAFullNameIsAnEventOfItsPod) {
  Write("/m/a.yaml", Manifest("web", "nginx:1", "fixed-a"));
  Write("/m/b.yaml", Manifest("web", "nginx:1", "fixed-b"));
  StartAndRead(1s);
  const auto events = [this] { return process->events.events(); };
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].reason, "FailedValidation");
  EXPECT_EQ(events()[0].uid, "fixed-b");
  EXPECT_EQ(events()[0].message,
            "Error validating pod web-node-a_default(fixed-b) from file due to duplicate pod name "
            "\"web-node-a\", ignoring");
  Write("/m/other.yaml", Manifest("other"));
  RunFor(1min);
  EXPECT_EQ(events().size(), 1u) << "once";
}

/// A file that is no manifest does not bring back a pod whose removal was seen.
TEST_F(StrayFiles, GetPodSaysOfARemovedPodThatItIsGoneWhateverIsIncomplete) {
  const auto web = StartWithWeb();
  Write("/m/README", "no manifest");
  RunFor(1s);
  ASSERT_FALSE(Complete("file"));
  PutWorker(*web, v1::SYNCING);
  Delete("/m/web.yaml");
  RunFor(1s);
  ASSERT_EQ(Show(), "web-");
  ASSERT_TRUE(process->service->GetPod(web->uid(), "file").ok());
  EXPECT_NE(*process->service->GetPod(web->uid(), "file"), nullptr) << "it has not finished";
  PutWorker(*web, v1::FINISHED);
  RunFor(1s);
  for (int starts = 0; starts < 3; ++starts) {
    SCOPED_TRACE(starts);
    ASSERT_EQ(Show(), "");
    for (const char* source : {"", "file", "http"}) {
      ASSERT_TRUE(process->service->GetPod(web->uid(), source).ok());
      EXPECT_EQ(*process->service->GetPod(web->uid(), source), nullptr);
      EXPECT_EQ(process->service->GetPod("other", source).status().code(),
                StatusCode::kUnavailable);
    }
    Restart();
  }
  Write("/m/web.yaml", Manifest("web"));
  RunFor(1s);
  EXPECT_GT(Find("web")->incarnation(), web->incarnation());
  const auto again = process->service->GetPod(web->uid(), "file");
  ASSERT_TRUE(again.ok());
  ASSERT_NE(*again, nullptr) << "it is wanted again";
  EXPECT_EQ((*again)->state(), v1::DesiredRecord::WANTED);
}

TEST_F(StrayFiles, GetPodTellsWhatIsInTheTableWhateverIsIncomplete) {
  const auto web = StartWithWeb();
  Write("/m/README", "no manifest");
  RunFor(1s);
  ASSERT_FALSE(Complete("file"));
  for (const auto state : {v1::DesiredRecord::WANTED, v1::DesiredRecord::REMOVED}) {
    const auto found = process->service->GetPod(web->uid());
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_NE(*found, nullptr);
    EXPECT_EQ((*found)->state(), state);
    PutWorker(*web, v1::SYNCING);
    if (state == v1::DesiredRecord::WANTED) Delete("/m/web.yaml");
    RunFor(1s);
  }
  const auto other = process->service->GetPod("other");
  EXPECT_TRUE(Message(other.status())
                  .starts_with("the pod is not known, and source file is not "
                               "complete: "))
      << other.status();
}

}  // namespace
}  // namespace splitlet::config_source
