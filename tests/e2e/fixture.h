#pragma once

/// Six real processes and nats-server on a private containerd of this test program, started once
/// for all its tests. Needs root. After each test nothing of its pods may be left in the runtime.
/// Threads: one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/node.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::e2e {

using harness::Node;
using harness::PodYaml;
using harness::WaitFor;
using namespace std::chrono_literals;

inline constexpr auto kSoon = 90s;  // far above what is needed, for a loaded machine

class E2eTest : public testing::Test {
 public:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

 protected:
  void SetUp() override;
  void TearDown() override;

  void StartNode(harness::NodeOptions options = {});
  void ExpectRunning(const std::string& name);
  void ExpectGone(const std::string& name);
  /// Exactly one ready sandbox and one running container of each of `pods`, and nothing else alive.
  void ExpectExactly(const std::vector<std::string>& pods);
  /// Waits until the API status of the pod has this phase.
  void ExpectPhase(const std::string& name, const std::string& phase);
  int RestartsOf(const std::string& pod);
  /// kill -9 of containerd; the test's keeper starts it again.
  void KillContainerd();
  static std::string Endpoint();

  std::unique_ptr<harness::RuntimeView> view_;
  std::unique_ptr<Node> node_;
  std::string scratch() const { return node_->dir() + "/scratch"; }  // mounted by hostPath in tests

 private:
  void RemoveAllPods();
};

/// PodYaml with `scratch` mounted at /scratch.
std::string PodWithScratch(const std::string& name, const std::string& script,
                           const std::string& scratch, const std::string& more_spec = "");

}  // namespace splitlet::e2e
