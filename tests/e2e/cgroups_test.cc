// Cgroups of pods on real containerd, and their limits in the kernel, below a cgroupRoot of this
// test program.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "libs/cgroup/tree.h"
#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

constexpr const char* kConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
syncFrequency: 10s
cgroupsPerQOS: true
cgroupRoot: {}
podPidsLimit: 77
systemReserved: {{cpu: 100m, memory: 64Mi}}
)";

std::string Asking(const std::string& name, const std::string& resources) {
  return PodYaml(name, "sleep 1000", "  terminationGracePeriodSeconds: 1\n") +
         "    resources: " + resources + "\n";
}

class RealCgroups : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped()) return;
    const auto layout = cgroup::ParseLayout(harness::ReadFile("/proc/self/mountinfo"));
    if (!layout.ok()) GTEST_SKIP() << layout.status();
    tree_ = std::make_unique<cgroup::Tree>(kernel_, *layout);
    root_ = {fmt::format("splitlet-e2e-{}", getpid())};
    ASSERT_TRUE(tree_->Make(root_).ok());
    StartNode({.config = fmt::format(kConfig, cgroup::CgroupfsPath(root_))});
  }
  void TearDown() override {
    E2eTest::TearDown();
    if (tree_ == nullptr) return;
    EXPECT_TRUE(tree_->Destroy(root_).ok());
  }
  bool v1() const { return tree_->layout().version == cgroup::Version::kV1; }
  std::string Value(const cgroup::Name& name, const cgroup::Setting& v1_file,
                    const std::string& v2_file) {
    const std::string mount = tree_->layout().mounts.at(v1() ? v1_file.controller : "");
    auto text =
        kernel_.Read(mount + cgroup::CgroupfsPath(name) + "/" + (v1() ? v1_file.file : v2_file));
    if (!text.ok()) return Message(text.status());
    return text->substr(0, text->find('\n'));
  }
  cgroup::Name NameOf(const std::string& pod, kube::QosClass qos) {
    const auto view = node_->Pod(pod);
    return cgroup::PodName(root_, qos, view == nullptr ? "unknown" : view->uid);
  }
  std::string Cpu(const cgroup::Name& name) {
    return Value(name, {"cpu", "cpu.shares", ""}, "cpu.weight");
  }
  std::string Memory(const cgroup::Name& name) {
    return Value(name, {"memory", "memory.limit_in_bytes", ""}, "memory.max");
  }
  void ExpectTakenDown(const cgroup::Name& name) {
    EXPECT_TRUE(WaitFor(kSoon, [&] { return tree_->Exists(name).value_or(true) == false; }))
        << cgroup::CgroupfsPath(name);
  }

  cgroup::RealKernel kernel_;
  std::unique_ptr<cgroup::Tree> tree_;
  cgroup::Name root_;
};

TEST_F(RealCgroups, PathsAndValuesAreAKubelets) {
  using enum kube::QosClass;
  node_->PutManifest("best.yaml", Asking("best", "{}"));
  node_->PutManifest("burst.yaml", Asking("burst", "{requests: {cpu: 500m, memory: 16Mi}}"));
  node_->PutManifest("full.yaml", Asking("full", "{limits: {cpu: 500m, memory: 32Mi}}"));
  for (const char* pod : {"best", "burst", "full"}) ExpectPhase(pod, "Running");
  const auto best = NameOf("best", kBestEffort), burst = NameOf("burst", kBurstable),
             full = NameOf("full", kGuaranteed);
  for (const auto& name : {best, burst, full}) {
    SCOPED_TRACE(cgroup::CgroupfsPath(name));
    EXPECT_EQ(tree_->Exists(name).value_or(false), true);
    EXPECT_GE(tree_->Pids(name)->size(), 2U) << "the sandbox and the container are in it";
    EXPECT_EQ(Value(name, {"pids", "pids.max", ""}, "pids.max"), "77");
  }
  EXPECT_EQ(Cpu(best), v1() ? "2" : "1");
  EXPECT_EQ(Cpu(burst), v1() ? "512" : "20");
  EXPECT_EQ(Cpu(full), v1() ? "512" : "20");
  EXPECT_EQ(Memory(full), "33554432");
  EXPECT_NE(Memory(burst), "33554432");
  EXPECT_EQ(Value(full, {"cpu", "cpu.cfs_quota_us", ""}, "cpu.max"),
            v1() ? "50000" : "50000 100000");
  EXPECT_EQ(Cpu(cgroup::QosName(root_, kBestEffort)), v1() ? "2" : "1");
  EXPECT_TRUE(WaitFor(
      kSoon, [&] { return Cpu(cgroup::QosName(root_, kBurstable)) == (v1() ? "512" : "20"); }));
  for (const char* pod : {"best", "burst", "full"})
    node_->RemoveManifest(fmt::format("{}.yaml", pod));
  for (const auto& name : {best, burst, full}) ExpectTakenDown(name);
}

TEST_F(RealCgroups, WhatIsLeftBehindIsKilled) {
  node_->PutManifest("web.yaml", Asking("web", "{}"));
  ExpectPhase("web", "Running");
  const auto name = NameOf("web", kube::QosClass::kBestEffort);
  const pid_t left = fork();
  if (left == 0) {
    for (;;) pause();
  }
  const std::string mount = tree_->layout().mounts.at(v1() ? "pids" : "");
  ASSERT_TRUE(
      kernel_.Write(mount + cgroup::CgroupfsPath(name) + "/cgroup.procs", fmt::format("{}", left))
          .ok());
  node_->RemoveManifest("web.yaml");
  ExpectTakenDown(name);
  int how = 0;
  // The kernel detaches an ending process from its cgroup early.
  ASSERT_TRUE(WaitFor(kSoon, [&] { return waitpid(left, &how, WNOHANG) == left; })) << "it runs on";
  EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

TEST_F(RealCgroups, AnEndOfPodWorkerLosesNone) {
  node_->PutManifest("web.yaml", Asking("web", "{}"));
  ExpectPhase("web", "Running");
  const auto name = NameOf("web", kube::QosClass::kBestEffort);
  node_->Kill("pod-worker");
  node_->RemoveManifest("web.yaml");
  ExpectTakenDown(name);
}

}  // namespace
}  // namespace splitlet::e2e
