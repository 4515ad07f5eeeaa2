#pragma once

/// Common checks of tests of a node: which pods run or are gone, and that no process crashed.
/// Threads: one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/node.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::harness {

class NodeTest : public testing::Test {
 protected:
  /// `soon`: time limit of a change; far above the usual time, for a loaded machine.
  explicit NodeTest(Duration soon) : soon_(soon) {}

  /// The node's processes, and an outside view of its runtime.
  std::unique_ptr<RuntimeView> view_;
  std::unique_ptr<Node> node_;

  void MakeNode(NodeOptions options);
  /// Ends the processes; fails if one of them crashed. Prints the logs of a failed test.
  void EndNode();

  void ExpectRunning(const std::string& name);
  void ExpectGone(const std::string& name);
  /// One ready sandbox for each of `pods`, with one running container, and nothing else running.
  void ExpectExactly(const std::vector<std::string>& pods);
  /// Restart count of the first container; -1 while there is none.
  int RestartsOf(const std::string& pod);

 private:
  const Duration soon_;
};

}  // namespace splitlet::harness
