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

}  // namespace
}  // namespace splitlet::config_source
