#pragma once

/// Memory of the six processes and nats-server in megabytes, and their CPU in seconds; a dead
/// process counts 0.
/// Threads: one.

#include <string>

#include "tests/harness/node.h"

namespace splitlet::bench {

class Processes {
 public:
  explicit Processes(harness::Node& node) : node_(node) {}

  double SixMb() const;  // PSS; printed one by one on stderr
  double ServerMb() const;
  /// PSS of nats-server and the running processes, including node-api.
  double AllMb() const;
  double MbOf(const std::string& process) const;  // PSS
  /// The highest memory of any process.
  double PeakMbOf(const std::string& process) const;
  double CpuSeconds() const;  // sum over all seven processes, each since its start
  double CpuSecondsOf(const std::string& process) const;
  /// Memory and idle CPU of all seven with that many pods, over 60 s after the node has settled.
  /// The targets are for 0, 100 and 500 pods.
  void ShowIdle(int pods) const;

 private:
  harness::Node& node_;
};

}  // namespace splitlet::bench
