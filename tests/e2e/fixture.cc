#include "tests/e2e/fixture.h"

#include <unistd.h>

#include <filesystem>
#include <limits>
#include <sstream>

#include "libs/cri/grpc_runtime.h"

namespace splitlet::e2e {
namespace {

std::unique_ptr<harness::TempDir> runtime_dir;
std::unique_ptr<harness::Keeper> keeper;

std::string RuntimeScript() { return harness::SourceDir() + "/deploy/local/runtime.sh"; }

int Script(const std::string& action) {
  return harness::RunToEnd({.argv = {"bash", RuntimeScript(), action, runtime_dir->path()},
                            .env = {},
                            .output = runtime_dir->path() + "/script.log"},
                           180s);
}

}  // namespace

void E2eTest::SetUpTestSuite() {
  if (geteuid() != 0 || runtime_dir != nullptr) return;
  runtime_dir = std::make_unique<harness::TempDir>("e2");
  keeper = std::make_unique<harness::Keeper>();
  ASSERT_EQ(Script("config"), 0) << harness::ReadFile(runtime_dir->path() + "/script.log");
  keeper->Start("containerd", {.argv = {"bash", RuntimeScript(), "serve", runtime_dir->path()},
                               .env = {},
                               .output = runtime_dir->path() + "/containerd.out"});
  ASSERT_EQ(Script("ready"), 0) << harness::ReadFile(runtime_dir->path() + "/script.log");
}

void E2eTest::TearDownTestSuite() {
  if (runtime_dir == nullptr) return;
  keeper->Stop("containerd");
  keeper.reset();
  EXPECT_EQ(Script("stop"), 0) << harness::ReadFile(runtime_dir->path() + "/script.log");
  runtime_dir.reset();
}

std::string E2eTest::Endpoint() { return "unix://" + runtime_dir->path() + "/containerd.sock"; }

void E2eTest::SetUp() {
  if (geteuid() != 0) GTEST_SKIP() << "running containers needs root";
  view_ = std::make_unique<harness::RuntimeView>(Endpoint());
}

void E2eTest::TearDown() {
  if (view_ == nullptr) return;
  // While the node runs: it may be at it.
  std::set<std::string> leaked;
  EXPECT_TRUE(WaitFor(kSoon, [&] { return (leaked = LeakedMounts()).empty(); }))
      << fmt::format("{}", fmt::join(leaked, "\n"));
  EndNode();
  RemoveAllPods();
}

/// Of pods that have nothing in the runtime any more.
std::set<std::string> E2eTest::LeakedMounts() {
  std::set<std::string> leaked, alive;
  if (node_ == nullptr) return leaked;
  for (const auto& sandbox : view_->Sandboxes()) alive.insert(sandbox.pod_uid);
  const std::string pods = node_->dir() + "/kubelet/pods/";
  std::istringstream mounts(harness::ReadFile("/proc/self/mounts"));
  std::string device, place;
  while (mounts >> device >> place) {
    mounts.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    if (!place.starts_with(pods)) continue;
    const std::string uid = place.substr(pods.size(), place.find('/', pods.size()) - pods.size());
    if (!alive.contains(uid)) leaked.insert(place);
  }
  return leaked;
}

void E2eTest::RemoveAllPods() {
  auto& runtime = view_->runtime();
  const Clock& clock = view_->clock();
  for (const auto& c : view_->Containers()) {
    // The runtime may still be at what a process asked for before it ended, and refuses meanwhile.
    Status removed;
    EXPECT_TRUE(WaitFor(kSoon, [&] {
      removed = runtime.StopContainer(c.id, 0, After(clock, 30s));
      if (removed.ok()) removed = runtime.RemoveContainer(c.id, After(clock, 30s));
      return removed.ok();
    })) << removed;
  }
  for (const auto& s : view_->Sandboxes()) {
    EXPECT_TRUE(runtime.StopPodSandbox(s.id, After(clock, 30s)).ok());
    EXPECT_TRUE(runtime.RemovePodSandbox(s.id, After(clock, 30s)).ok());
  }
}

void E2eTest::StartNode(harness::NodeOptions options) {
  options.runtime_endpoint = Endpoint();
  MakeNode(std::move(options));
  std::filesystem::create_directories(scratch());
  node_->Start();
}

void E2eTest::ExpectPhase(const std::string& name, const std::string& phase) {
  std::string last;
  ASSERT_TRUE(WaitFor(kSoon,
                      [&] {
                        const auto pod = node_->Pod(name);
                        last = pod == nullptr ? "absent" : pod->phase;
                        return last == phase;
                      }))
      << name << " is " << last;
}

void E2eTest::KillContainerd() { keeper->Signal("containerd", 9); }

std::string PodWithScratch(const std::string& name, const std::string& script,
                           const std::string& scratch, const std::string& more_spec) {
  return fmt::format(R"(apiVersion: v1
kind: Pod
metadata:
  name: {0}
spec:
  terminationGracePeriodSeconds: 2
{3}  volumes:
  - name: scratch
    hostPath: {{path: {2}}}
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: ["/bin/sh", "-c", "{1}"]
    volumeMounts:
    - {{name: scratch, mountPath: /scratch}}
)",
                     name, script, scratch, more_spec);
}

}  // namespace splitlet::e2e
