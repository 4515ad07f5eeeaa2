#pragma once

/// A runtime that records the network ranges it gets, for tests.
/// Threads: one.
/// Errors:  `error`, while it is set.

#include <string>
#include <vector>

#include "libs/cri/network_config.h"

namespace splitlet::cri {

class FakeNetworkConfig final : public NetworkConfig {
 public:
  Status UpdatePodCidr(const std::string& cidr, Deadline /*deadline*/) override {
    ++calls;
    if (!error.ok()) return error;
    connected_ = true;
    ranges.push_back(cidr);
    return OkStatus();
  }
  bool Connected() override { return connected_; }
  /// Simulates a restart: the runtime's memory is empty.
  void Restart() {
    connected_ = false;
    ranges.clear();
  }

  Status error;
  int calls = 0;
  std::vector<std::string> ranges;  // ranges received since the runtime's start

 private:
  bool connected_ = false;
};

}  // namespace splitlet::cri
