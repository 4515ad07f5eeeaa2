#pragma once

/// Six real processes and nats-server on a private containerd of this test program, started once
/// for all its tests. Needs root. After each successful test its pods are ended and must leave
/// nothing behind: see LeakCheck.
/// Threads: one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/leak_check.h"
#include "tests/harness/node_fixture.h"

namespace splitlet::e2e {

using harness::Node;
using harness::PodYaml;
using harness::WaitFor;
using namespace std::chrono_literals;

inline constexpr auto kSoon = 90s;  // far above the usual time, for a loaded machine
/// A script that ends at TERM immediately.
inline constexpr const char* kForever = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

class E2eTest : public harness::NodeTest {
 public:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

 protected:
  E2eTest() : NodeTest(kSoon) {}
  void SetUp() override;
  void TearDown() override;

  void MakeNode(harness::NodeOptions options);
  void StartNode(harness::NodeOptions options = {});
  /// Waits until the API status of the pod has this phase.
  void ExpectPhase(const std::string& name, const std::string& phase);
  /// kill -9 of containerd; the test's keeper starts it again.
  void KillContainerd();
  static std::string Endpoint();
  /// Ends all pods and makes gc clean up, with every process up and without faults; then nothing
  /// may be left of them within `limit`.
  void ExpectNoLeaks(Duration limit = kSoon);
  /// Ends pods by removing them from their source.
  virtual void RemoveWantedPods();
  std::unique_ptr<harness::LeakCheck> leaks_;

  std::string scratch() const { return node_->dir() + "/scratch"; }  // mounted by hostPath in tests

 private:
  void StartWhatIsDown();
  void StopContainers();
  bool CleanUp(std::string& why);
  void RemoveAllPods();

  bool containerd_killed_ = false;
};

/// Lines of this machine's mount table for mounts in the folder.
std::vector<std::string> MountsBelow(const std::string& folder);

/// PodYaml with `scratch` mounted at /scratch.
std::string PodWithScratch(const std::string& name, const std::string& script,
                           const std::string& scratch, const std::string& more_spec = "");

}  // namespace splitlet::e2e
