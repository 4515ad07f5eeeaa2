#pragma once

/// One pod's way through the six processes and back, in milliseconds, by the runtime's own times.
/// Threads: one.
/// Errors: a pod that does not start or end terminates the benchmark with the last lines of the
/// logs.

#include <string>

#include "tests/harness/node.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::bench {

class PodWay {
 public:
  PodWay(harness::Node& node, harness::RuntimeView& view) : node_(node), view_(view) {}

  /// A manifest of one container; `more` is another line of its container.
  void Put(const std::string& name, const std::string& more = "imagePullPolicy: IfNotPresent");
  void Remove(const std::string& name) { node_.RemoveManifest(name + ".yaml"); }

  /// From the rename of the manifest until RunPodSandbox is called. The pod runs on return.
  double StartMs(const std::string& name);
  /// From the removal of the manifest until StopContainer is called. The pod has ended on return.
  double StopMs(const std::string& name);

 private:
  harness::Node& node_;
  harness::RuntimeView& view_;
};

}  // namespace splitlet::bench
