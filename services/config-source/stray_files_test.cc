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
  ASSERT_EQ(LogLines("problem with a manifest").size(), 3u);
  Delete("/m/a.yaml");
  Write("/m/b.yaml", Manifest("good"));
  Delete("/m/c.yaml~");
  RunFor(1s);
  EXPECT_EQ(
      LogLines("manifest with a problem was removed"),
      (std::vector<std::string>{"source=file path=/m/a.yaml ", "source=file path=/m/c.yaml~ "}));
  EXPECT_EQ(LogLines("manifest has no problem any more"),
            (std::vector<std::string>{"source=file path=/m/b.yaml "}));
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
