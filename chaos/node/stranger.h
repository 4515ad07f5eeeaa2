#pragma once

/// Somebody who has a port of loopback before its owner: who connects hears nonsense, or nothing.
/// Made by LocalFaults.
/// Threads: one of its own.
/// Errors: of bind.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>

#include "libs/base/status.h"

namespace splitlet::chaos {

class Stranger {
 public:
  /// On 127.0.0.1; 0: any port. It goes with the object.
  static StatusOr<std::unique_ptr<Stranger>> Take(uint16_t port);
  ~Stranger();
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  uint16_t port() const { return port_; }

 private:
  Stranger(int fd, uint16_t port);
  void Serve(const std::stop_token& stop) const;

  const int fd_;
  const uint16_t port_;
  std::jthread thread_;
};

}  // namespace splitlet::chaos
