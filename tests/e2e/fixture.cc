#include "tests/e2e/fixture.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "libs/base/processes.h"
#include "libs/cri/grpc_runtime.h"

namespace splitlet::e2e {
namespace {

std::unique_ptr<harness::TempDir> runtime_dir;
std::unique_ptr<harness::Keeper> keeper;

/// Time after a kill of containerd until leftovers count as lost.
constexpr Duration kRuntimeCleans = 15s;

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
  // After a failure the state of the test is unknown.
  if (leaks_ != nullptr && !HasFailure()) ExpectNoLeaks();
  EndNode();
  RemoveAllPods();
}

void E2eTest::ExpectNoLeaks(Duration limit) {
  RemoveWantedPods();
  StartWhatIsDown();
  std::string left;
  const auto is_clean = [&] { return CleanUp(left); };
  if (containerd_killed_ && !WaitFor(kRuntimeCleans, is_clean))
    for (const auto& leak : leaks_->RemoveRuntimeLeaks(leaks_->Left()))
      std::cerr << "containerd lost sight of it when it was killed: " << leak << "\n";
  EXPECT_TRUE(WaitFor(limit, is_clean)) << "left over:\n" << left;
}

void E2eTest::RemoveWantedPods() {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(node_->manifests(), none))
    std::filesystem::remove_all(file.path());
}

void E2eTest::StartWhatIsDown() {
  if (node_->keeper().PidOf("nats") == 0) node_->StartNats();
  for (const auto& process : ProcessNames()) {
    node_->Resume(process);
    if (node_->keeper().PidOf(process) == 0) node_->StartProcess(process);
    EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->SetFault(process, "", "off").ok(); }))
        << process << " does not answer";
  }
}

/// A terminating pod may have a grace period of minutes.
void E2eTest::StopContainers() {
  for (const auto& container : view_->Running())
    if (const Status stopped =
            view_->runtime().StopContainer(container.id, 0, After(view_->clock(), 30s));
        !stopped.ok())
      std::cerr << "stop " << container.id.str() << ": " << stopped << "\n";
}

bool E2eTest::CleanUp(std::string& why) {
  StopContainers();
  if (const auto gc = node_->RunGc(false); !gc.ok()) {
    why = "gc: " + Message(gc.status());
    return false;
  }
  const auto left = leaks_->Left();
  why = fmt::format("{}", fmt::join(left, "\n"));
  return left.empty();
}

void E2eTest::RemoveAllPods() {
  auto& runtime = view_->runtime();
  const Clock& clock = view_->clock();
  for (const auto& c : view_->Containers()) {
    // The runtime may still be working on a call of a killed process, and refuse calls until then.
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

void E2eTest::MakeNode(harness::NodeOptions options) {
  NodeTest::MakeNode(std::move(options));
  const std::string& dir = node_->dir();
  leaks_ = std::make_unique<harness::LeakCheck>(
      *view_, operate::PodPlaces{.tops = {dir, runtime_dir->path()},
                                 .root = dir + "/kubelet",
                                 .state = dir + "/state",
                                 .run = dir + "/run",
                                 .logs = dir + "/pods",
                                 .containerd = runtime_dir->path()});
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

void E2eTest::KillContainerd() {
  containerd_killed_ = true;
  keeper->Signal("containerd", 9);
}

std::vector<std::string> MountsBelow(const std::string& folder) {
  std::vector<std::string> found;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" " + folder) != std::string::npos) found.push_back(line);
  return found;
}

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
