#pragma once

/// A runtime that keeps what it is told of the network, for tests.
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
    told.push_back(cidr);
    return OkStatus();
  }
  bool Connected() override { return connected_; }
  /// It has started again, with nothing in memory.
  void Restart() {
    connected_ = false;
    told.clear();
  }

  Status error;
  int calls = 0;
  std::vector<std::string> told;  // since its start

 private:
  bool connected_ = false;
};

}  // namespace splitlet::cri
