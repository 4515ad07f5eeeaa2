#pragma once

/// What the six processes of a node and its nats-server take of the machine. Threads: one. Units:
/// megabytes, seconds of CPU. A process that does not run counts nothing.

#include "tests/harness/node.h"

namespace splitlet::bench {

class Processes {
 public:
  explicit Processes(harness::Node& node) : node_(node) {}

  double SixMb() const;  // PSS; told one by one on stderr
  double ServerMb() const;
  double CpuSeconds() const;  // of all seven, since each started
  /// Memory and idle CPU of all seven with that many pods, over 20 s after all has settled; the
  /// targets are those for none and for 100.
  void ShowIdle(int pods) const;

 private:
  harness::Node& node_;
};

}  // namespace splitlet::bench
