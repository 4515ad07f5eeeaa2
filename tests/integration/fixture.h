#pragma once

/// Six real processes and nats-server on the fake CRI runtime, with checks of what a node must look
/// like afterwards. Threads: one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/node.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::integration {

using harness::Node;
using harness::PodYaml;
using harness::WaitFor;
using namespace std::chrono_literals;

inline constexpr auto kSoon = 40s;  // far above what is needed, for a loaded machine

class IntegrationTest : public testing::Test {
 protected:
  /// Starts the fake runtime and the node. `events`: "none", "cri" or "containerd".
  void StartNode(harness::NodeOptions options = {}, const std::string& events = "cri");
  void TearDown() override;

  void ExpectRunning(const std::string& name);
  void ExpectGone(const std::string& name);
  /// One ready sandbox for each of `pods`, one running container named app in each, nothing else
  /// alive.
  void ExpectExactly(const std::vector<std::string>& pods);
  /// Restart count of the container app.
  int RestartsOf(const std::string& pod);

  void StartFakeCri(const std::string& events);
  /// After runtime_.Stop("fake-cri"): the same state on the same socket.
  void StartFakeCriAgain();
  harness::Keeper runtime_;
  std::unique_ptr<harness::TempDir> runtime_dir_;
  std::string socket_, control_, events_;
  std::unique_ptr<harness::RuntimeView> view_;
  std::unique_ptr<Node> node_;
};

}  // namespace splitlet::integration
