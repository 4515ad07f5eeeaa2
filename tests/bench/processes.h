#pragma once

/// What the six processes and nats-server take, in megabytes and seconds of CPU; a dead one
/// nothing.
/// Threads: one.

#include <string>

#include "tests/harness/node.h"

namespace splitlet::bench {

class Processes {
 public:
  explicit Processes(harness::Node& node) : node_(node) {}

  double SixMb() const;  // PSS; printed one by one on stderr
  double ServerMb() const;
  /// PSS of nats-server and whatever runs of the processes, node-api included.
  double AllMb() const;
  double MbOf(const std::string& process) const;  // PSS
  /// The most that a process ever had in memory.
  double PeakMbOf(const std::string& process) const;
  double CpuSeconds() const;  // of all seven, since each started
  double CpuSecondsOf(const std::string& process) const;
  /// Memory and idle CPU of all seven with that many pods, over 60 s after all has settled; the
  /// targets are those for none, 100 and 500.
  void ShowIdle(int pods) const;

 private:
  harness::Node& node_;
};

}  // namespace splitlet::bench
