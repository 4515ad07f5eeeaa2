// The sample pods of deploy/local/examples behave on real containerd as their comments describe.

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "libs/cgroup/tree.h"
#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

std::string Examples() { return harness::SourceDir() + "/deploy/local/examples"; }

using testing::HasSubstr;

class SamplePods : public E2eTest {
 protected:
  std::string LogOf(const std::string& pod) { return node_->Ctl({"logs", pod + "-node-1"}).output; }
  void ExpectLog(const std::string& pod, const std::string& line) {
    EXPECT_TRUE(WaitFor(kSoon, [&] { return LogOf(pod).find(line) != std::string::npos; }))
        << pod << ": " << LogOf(pod);
  }
  void ExpectEvicted(const std::string& pod, const std::string& message) {
    ExpectPhase(pod, "Failed");
    const std::string name = pod + "-node-1";
    EXPECT_THAT(node_->Ctl({"describe", "pod", name}).output, HasSubstr("Evicted"));
    EXPECT_THAT(node_->Ctl({"get", "events", "--for", "pod/" + name}).output, HasSubstr(message));
  }
};

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
  EXPECT_GE(names.size(), 13u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    if (const auto end = ends.find(name); end != ends.end()) {
      ExpectPhase(name, end->second);
    } else if (name == "crashing") {
      EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf(name) >= 1; }));
    } else if (name == "memory-hungry") {
      EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf(name) == 1 && node_->Pod(name)->ready; }));
      EXPECT_THAT(node_->Ctl({"describe", "pod", name + "-node-1"}).output, HasSubstr("OOMKilled"));
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
  ExpectLog("burstable", "67108864 bytes, 20000 of 100000 us, 8192 KiB in /memory\n");
  const std::string pods = node_->Ctl({"describe", "pod", "guaranteed-node-1"}).output;
  EXPECT_THAT(pods, HasSubstr("Guaranteed"));
}

/// A cgroup for this test's pods, so that they are not among those of other nodes on the machine.
class LimitedSamplePods : public SamplePods {
 protected:
  void SetUp() override {
    SamplePods::SetUp();
    if (IsSkipped()) return;
    const auto layout = cgroup::ParseLayout(harness::ReadFile("/proc/self/mountinfo"));
    if (!layout.ok()) GTEST_SKIP() << layout.status();
    tree_ = std::make_unique<cgroup::Tree>(kernel_, *layout);
    ASSERT_TRUE(tree_->Make(root_).ok());
  }
  void TearDown() override {
    SamplePods::TearDown();
    if (tree_ == nullptr) return;
    EXPECT_TRUE(tree_->Destroy(root_).ok());
  }
  cgroup::RealKernel kernel_;
  std::unique_ptr<cgroup::Tree> tree_;
  const cgroup::Name root_ = {fmt::format("splitlet-samples-{}", getpid())};
};

TEST_F(LimitedSamplePods, AreHeldToTheSettingsBesideThem) {
  const std::string folder = Examples() + "/with-limits";
  StartNode({.config = harness::ReadFile(folder + "/kubelet.yaml") +
                       "cgroupRoot: " + cgroup::CgroupfsPath(root_) + "\n"});
  for (const char* name : {"overfull-volume", "overfull-disk", "forking"})
    node_->PutManifest(name + std::string(".yaml"),
                       harness::ReadFile(fmt::format("{}/{}.yaml", folder, name)));
  ExpectEvicted("overfull-volume", "Usage of EmptyDir volume \"data\" exceeds the limit \"1Mi\".");
  ExpectEvicted("overfull-disk",
                "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi.");
  ExpectLog("forking", "can't fork");
  ExpectLog("forking", " processes\n");
  EXPECT_EQ(RestartsOf("forking"), 0);
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
