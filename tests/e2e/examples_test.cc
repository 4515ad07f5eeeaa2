// The sample pods of deploy/local/examples do on real containerd what their comments say.

#include <filesystem>
#include <map>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

std::string Examples() { return harness::SourceDir() + "/deploy/local/examples"; }

using SamplePods = E2eTest;

TEST_F(SamplePods, RunOrEndAsTheySay) {
  StartNode();
  const std::map<std::string, std::string> ends = {{"batch", "Succeeded"},
                                                   {"restart-rules", "Succeeded"}};
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Examples())) {
    if (entry.path().extension() != ".yaml") continue;
    names.push_back(entry.path().stem());
    node_->PutManifest(entry.path().filename(), harness::ReadFile(entry.path()));
  }
  EXPECT_GE(names.size(), 9u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    if (const auto end = ends.find(name); end != ends.end()) {
      ExpectPhase(name, end->second);
    } else if (name == "crashing") {
      EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf(name) >= 1; }));
    } else {
      EXPECT_TRUE(WaitFor(kSoon, [&] {
        const auto pod = node_->Pod(name);
        return pod != nullptr && pod->phase == "Running" && pod->ready;
      }));
      EXPECT_EQ(RestartsOf(name), 0);
    }
  }
  const auto rules = node_->Pod("restart-rules");
  ASSERT_NE(rules, nullptr);
  ASSERT_EQ(rules->containers.size(), 2u);
  for (const auto& container : rules->containers) EXPECT_GE(container.restarts, 1);
  const Node::Run said = node_->Ctl({"logs", "sidecar-node-1"});
  EXPECT_EQ(said.output.substr(said.output.rfind("hello")), "hello from the sidecar\n");
  const Node::Run read = node_->Ctl({"logs", "volumes-node-1", "-c", "reader"});
  EXPECT_TRUE(read.output.ends_with("1000:2000 hello\n")) << read.output;
}

TEST_F(SamplePods, TakeObjectsFromTheFolderBesideThem) {
  const std::string folder = Examples() + "/with-objects";
  std::string config = harness::ReadFile(folder + "/kubelet.yaml");
  const std::string path = "/etc/splitlet/objects";
  ASSERT_NE(config.find(path), std::string::npos) << config;
  const harness::TempDir objects("ex"), kept("ke");
  for (const char* file : {"shop.yaml", "kept.yaml"}) {
    std::string text = harness::ReadFile(folder + "/objects/" + file);
    const std::string where = "/var/tmp/splitlet-kept";
    if (const size_t at = text.find(where); at != std::string::npos)
      text.replace(at, where.size(), kept.path());
    harness::WriteFile(objects / file, text);
  }
  config.replace(config.find(path), path.size(), objects.path());
  StartNode({.runtime_endpoint = {}, .config = config});
  node_->PutManifest("shop.yaml", harness::ReadFile(folder + "/shop.yaml"));
  node_->PutManifest("files.yaml", harness::ReadFile(folder + "/files.yaml"));
  ExpectRunning("shop");
  ExpectRunning("files");
  const std::string manifest = harness::ReadFile(folder + "/kept.yaml");
  for (const char* start : {"start 1\n", "start 2\n"}) {
    node_->PutManifest("kept.yaml", manifest);
    ExpectRunning("kept");
    EXPECT_TRUE(WaitFor(kSoon, [&] {
      return node_->Ctl({"logs", "kept-node-1"}).output == start;
    })) << node_->Ctl({"logs", "kept-node-1"}).output;
    node_->RemoveManifest("kept.yaml");
    ASSERT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("kept") == nullptr; }));
  }
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return node_->Ctl({"logs", "files-node-1"}).output ==
           "welcome, key of 15 letters, I am files-node-1\n";
  })) << node_->Ctl({"logs", "files-node-1"}).output;
  const std::string want = "welcome, EUR, key of 15 letters, stock at 10.0.0.7:80, built today\n";
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return node_->Ctl({"logs", "shop-node-1"}).output.ends_with(want);
  })) << node_->Ctl({"logs", "shop-node-1"}).output;
}

}  // namespace
}  // namespace splitlet::e2e
