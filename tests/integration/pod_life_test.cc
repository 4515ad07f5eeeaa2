// One incarnation of a pod through six real processes, and the effect of broken manifests.

#include <filesystem>
#include <fstream>

#include "libs/base/processes.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

using PodLife = IntegrationTest;

TEST_F(PodLife, AManifestBecomesARunningPodAndGoesWithItsFile) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  ExpectExactly({"web"});
  EXPECT_EQ(RestartsOf("web"), 0);
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Table<v1::DesiredRecord>("desired").empty(); }));
}

TEST_F(PodLife, WithoutEventsThePollingRelistDoesTheSame) {
  StartNode({}, "none");
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
}

TEST_F(PodLife, AnExitedContainerIsStartedAgainAndCountedOnce) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const auto before = view_->RunningOf("web");
  ASSERT_EQ(before.size(), 1u);
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer(before[0].id.str(), 3).ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") == 1 && node_->IsRunning("web"); }));
  ExpectExactly({"web"});
  EXPECT_NE(view_->RunningOf("web").at(0).id, before[0].id);
}

TEST_F(PodLife, RestartPolicyNeverEndsInSucceededAndStaysSo) {
  StartNode();
  node_->PutManifest("job.yaml", PodYaml("job", "true", "  restartPolicy: Never\n"));
  ASSERT_TRUE(WaitFor(kSoon, [&] { return view_->RunningOf("job").size() == 1; }));
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer(view_->RunningOf("job").at(0).id.str(), 0).ok());
  const auto succeeded = [&] {
    const auto pod = node_->Pod("job");
    return pod != nullptr && pod->phase == "Succeeded";
  };
  ASSERT_TRUE(WaitFor(kSoon, succeeded));
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  EXPECT_TRUE(WaitFor(kSoon, succeeded));
  EXPECT_TRUE(harness::HoldsFor(3s, [&] { return view_->RunningOf("job").empty(); }));
}

TEST_F(PodLife, AManifestReplacedByRenameRestartsTheContainerWithTheNewSpec) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const auto before = view_->RunningOf("web").at(0).id;
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 2000"));
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto now = view_->RunningOf("web");
    return now.size() == 1 && now[0].id != before && node_->IsRunning("web");
  }));
  ExpectExactly({"web"});
}

TEST_F(PodLife, BrokenManifestsAreReportedAndHarmNoOther) {
  StartNode();
  const struct {
    const char* file;
    std::string content;
    const char* reason;  // part of the output of `get sources`
  } kBroken[] = {
      {"not-yaml.yaml", "{{{{ : :", "not-yaml.yaml"},
      {"kind.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n", "Service"},
      {"name.yaml",
       "apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: a, image: b}]}\n",
       "name"},
      {"twice.yaml",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: t}\nspec: {containers: [{name: a, image: b}, "
       "{name: a, image: b}]}\n",
       "containers[1].name"},
      {"quantity.yaml",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {containers: [{name: a, image: b, "
       "resources: {limits: "
       "{cpu: lots}}}]}\n",
       "cpu"},
      {"binary.yaml", std::string("\x7f\x45\x4c\x46\x00\x01\xff\xfe", 8), "binary.yaml"},
      {"large.yaml", std::string(20u << 20, '#'), "large.yaml"},
  };
  for (const auto& c : kBroken) node_->PutManifest(c.file, c.content);
  std::filesystem::create_symlink("loop.yaml", node_->manifests() + "/loop.yaml");
  // As in a kubelet, an unknown field is reported and does not prevent its pod.
  node_->PutManifest("field.yaml", PodYaml("field", "sleep 1000", "  nodSelector: {}\n"));
  node_->PutManifest("good.yaml", PodYaml("good", "sleep 1000"));
  ExpectRunning("good");
  for (const auto& c : kBroken) {
    SCOPED_TRACE(c.file);
    EXPECT_TRUE(WaitFor(kSoon, [&] {
      const auto sources = node_->Sources();
      if (!sources.ok()) return false;
      for (const auto& source : sources->sources())
        for (const auto& problem : source.problems())
          if (problem.where().find(c.file) != std::string::npos &&
              (problem.where() + problem.reason()).find(c.reason) != std::string::npos)
            return true;
      return false;
    }));
  }
  ExpectExactly({"good", "field"});
  EXPECT_NE(harness::ReadFile(node_->LogOf("config-source")).find("nodSelector"),
            std::string::npos);
}

TEST_F(PodLife, AManifestBrokenForAMomentKeepsItsPod) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const auto before = view_->RunningOf("web").at(0).id;
  node_->PutManifest("web.yaml", "kind: Pod\nmetadata: {name: web\n");
  node_->KillAndAwait("config-source");
  EXPECT_TRUE(harness::HoldsFor(5s, [&] { return view_->RunningOf("web").size() == 1; }));
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectExactly({"web"});
  EXPECT_EQ(view_->RunningOf("web").at(0).id, before);
}

TEST_F(PodLife, ASourceThatIsNeverReachableHoldsBackNoOther) {
  StartNode({.config = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
httpCheckFrequency: 2s
staticPodURL: http://127.0.0.1:9/pods
)"});
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  node_->PutManifest("b.yaml", PodYaml("b", "sleep 1000"));
  ExpectExactly({"a", "b"});
  node_->RemoveManifest("b.yaml");
  ExpectGone("b");
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  node_->PutManifest("c.yaml", PodYaml("c", "sleep 1000"));
  ExpectExactly({"a", "c"});
  EXPECT_EQ(RestartsOf("a"), 0);
  const auto sources = node_->Sources();
  ASSERT_TRUE(sources.ok()) << sources.status();
  bool told = false;
  for (const auto& source : sources->sources())
    told = told || (source.name() == "http" && !source.complete());
  EXPECT_TRUE(told) << sources->DebugString();
}

TEST_F(PodLife, ADirectoryRemovedForAMomentRemovesNothing) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const auto before = view_->RunningOf("web").at(0).id;
  std::filesystem::rename(node_->manifests(), node_->manifests() + ".away");
  EXPECT_TRUE(harness::HoldsFor(4s, [&] { return view_->RunningOf("web").size() == 1; }));
  std::filesystem::rename(node_->manifests() + ".away", node_->manifests());
  ExpectExactly({"web"});
  EXPECT_EQ(view_->RunningOf("web").at(0).id, before);
}

TEST_F(PodLife, ManyManifestsAtOnceAllRun) {
  StartNode();
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back(fmt::format("many-{}", i));
    node_->PutManifest(names.back() + ".yaml", PodYaml(names.back(), "sleep 1000"));
  }
  ASSERT_TRUE(WaitFor(120s, [&] { return view_->Running().size() == names.size(); }));
  ExpectExactly(names);
}

}  // namespace
}  // namespace splitlet::integration
