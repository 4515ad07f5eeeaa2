#pragma once

/// Holds a port of loopback before its owner can bind it: every second client gets garbage, the
/// others get nothing. Made by LocalFaults.
/// Threads: one of its own.
/// Errors: of bind.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>

#include "libs/base/status.h"

namespace splitlet::chaos {

class PortHolder {
 public:
  /// On 127.0.0.1; 0: any port. The destructor frees the port.
  static StatusOr<std::unique_ptr<PortHolder>> Take(uint16_t port);
  ~PortHolder();
  PortHolder(const PortHolder&) = delete;
  PortHolder& operator=(const PortHolder&) = delete;

  uint16_t port() const { return port_; }

 private:
  PortHolder(int fd, uint16_t port);
  void Serve(const std::stop_token& stop) const;

  const int fd_;
  const uint16_t port_;
  std::jthread thread_;
};

}  // namespace splitlet::chaos
