#pragma once

/// A node on a runtime that takes no time (fake-cri), for benchmarks. One thread.
/// Errors: a program that cannot be started ends the benchmark.

#include <string>
#include <vector>

#include "tests/harness/child.h"
#include "tests/harness/node.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::bench {

class FakeNode {
 public:
  /// `config`: lines of the KubeletConfiguration; the defaults are those of the kubelet. `flags`:
  /// additional flags of all processes.
  explicit FakeNode(const std::string& config = {}, std::vector<std::string> flags = {});

  /// Number of calls of `method`, such as ListContainers, to the runtime since it started.
  int Calls(const std::string& method) const;
  /// A command of the runtime's control socket.
  void Tell(const std::string& command) const;
  harness::Node& node() { return node_; }
  harness::RuntimeView& view() { return view_; }

 private:
  const harness::TempDir dir_;
  const std::string endpoint_, control_;
  harness::Keeper keeper_;
  harness::RuntimeView view_;
  harness::Node node_;
};

}  // namespace splitlet::bench
