#pragma once

/// What every test of a node checks: which pods run or are gone, that no process died by itself.
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
  /// `soon`: how long a change may take; far above what is needed, for a loaded machine.
  explicit NodeTest(Duration soon) : soon_(soon) {}

  /// The node's processes, and the look into its runtime from outside.
  std::unique_ptr<RuntimeView> view_;
  std::unique_ptr<Node> node_;

  void MakeNode(NodeOptions options);
  /// Ends the processes; fails when one of them had crashed. A failed test is told what they
  /// logged.
  void EndNode();

  void ExpectRunning(const std::string& name);
  void ExpectGone(const std::string& name);
  /// One ready sandbox for each of `pods`, one running container in each, nothing else alive.
  void ExpectExactly(const std::vector<std::string>& pods);
  /// Restart count of the first container; -1 while there is none.
  int RestartsOf(const std::string& pod);

 private:
  const Duration soon_;
};

}  // namespace splitlet::harness
