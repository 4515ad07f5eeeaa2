#pragma once

/// Six real processes and nats-server on the fake CRI runtime, with checks of the node.
/// Threads: one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/node_fixture.h"

namespace splitlet::integration {

using harness::Node;
using harness::PodYaml;
using harness::WaitFor;
using namespace std::chrono_literals;

inline constexpr auto kSoon = 40s;  // far above the usual time, for a loaded machine

class IntegrationTest : public harness::NodeTest {
 protected:
  IntegrationTest() : NodeTest(kSoon) {}
  /// Starts the fake runtime and the node. `events`: "none", "cri" or "containerd".
  void StartNode(harness::NodeOptions options = {}, const std::string& events = "cri");
  void TearDown() override { EndNode(); }

  void StartFakeCri(const std::string& events);
  /// After runtime_.Stop("fake-cri"): the same state on the same socket.
  void StartFakeCriAgain();
  harness::Keeper runtime_;
  std::unique_ptr<harness::TempDir> runtime_dir_;
  std::string socket_, control_, events_;
  bool has_image_fs_ = false;  // the runtime's folder of images exists
};

}  // namespace splitlet::integration
