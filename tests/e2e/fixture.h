#pragma once

/// Six real processes and nats-server on a private containerd of this test program, started once
/// for all its tests. Needs root. After each test nothing of its pods may be left in the runtime,
/// and no mount of a pod that is gone.
/// Threads: one.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/node_fixture.h"

namespace splitlet::e2e {

using harness::Node;
using harness::PodYaml;
using harness::WaitFor;
using namespace std::chrono_literals;

inline constexpr auto kSoon = 90s;  // far above what is needed, for a loaded machine
/// A script that ends as soon as it is asked to.
inline constexpr const char* kForever = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

class E2eTest : public harness::NodeTest {
 public:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

 protected:
  E2eTest() : NodeTest(kSoon) {}
  void SetUp() override;
  void TearDown() override;

  void StartNode(harness::NodeOptions options = {});
  /// Waits until the API status of the pod has this phase.
  void ExpectPhase(const std::string& name, const std::string& phase);
  /// kill -9 of containerd; the test's keeper starts it again.
  void KillContainerd();
  static std::string Endpoint();

  std::string scratch() const { return node_->dir() + "/scratch"; }  // mounted by hostPath in tests

 private:
  std::set<std::string> LeakedMounts();
  void RemoveAllPods();
};

/// PodYaml with `scratch` mounted at /scratch.
std::string PodWithScratch(const std::string& name, const std::string& script,
                           const std::string& scratch, const std::string& more_spec = "");

}  // namespace splitlet::e2e
