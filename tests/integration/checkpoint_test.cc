// Archives of containers, requested over HTTPS from node-api; made by a runtime that supports them,
// and refused by one that does not.

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/fake_cri/control.h"
#include "tests/integration/serving_fixture.h"

namespace splitlet::integration {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Checkpoints : public ServingTest {
 protected:
  std::string Post(const std::string& target) { return Ask("POST", target); }
  std::vector<std::string> Archives() {
    std::vector<std::string> names;
    const std::filesystem::path folder = node_->dir() + "/kubelet/checkpoints";
    if (std::filesystem::exists(folder))
      for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().string());
    return names;
  }
};

TEST_F(Checkpoints, AreMadeByARuntimeThatCanAndRefusedByOneThatCannot) {
  StartServingNode();
  node_->PutManifest("web.yaml", harness::PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const std::string pod = "web-node-1", target = "/checkpoint/default/" + pod + "/app";
  std::string made;
  ASSERT_TRUE(WaitFor(kSoon, [&] { return (made = Post(target)).starts_with("200 "); })) << made;
  const std::string begin =
      node_->dir() + "/kubelet/checkpoints/checkpoint-" + pod + "_default-app-";
  EXPECT_THAT(made, StartsWith(R"(200 {"items":[")" + begin));
  EXPECT_THAT(made, EndsWith(R"(.tar"]})"));
  const auto archives = Archives();
  ASSERT_FALSE(archives.empty());
  EXPECT_THAT(made, HasSubstr("\"" + archives.back() + "\""));
  EXPECT_THAT(harness::ReadFile(archives.back()), StartsWith("checkpoint of "));
  EXPECT_EQ(std::filesystem::status(node_->dir() + "/kubelet/checkpoints").permissions(),
            std::filesystem::perms::owner_all);

  ASSERT_TRUE(fake_cri::Control(control_).Send("checkpoints off").ok());
  EXPECT_THAT(Post(target + "?timeout=1"),
              StartsWith("500 checkpointing of default/" + pod +
                         "/app failed (rpc error: code = Unimplemented desc = unknown method "
                         "CheckpointContainer for service runtime.v1.RuntimeService)"));
  EXPECT_EQ(Archives().size(), archives.size());
  EXPECT_THAT(Post("/checkpoint/default/no/app"), StartsWith("404 pod does not exist"));
  ExpectExactly({"web"});
}

}  // namespace
}  // namespace splitlet::integration
