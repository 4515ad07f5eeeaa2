#pragma once

/// A file descriptor that is closed with its owner, for one thread; and functions that read from
/// it.

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "libs/base/status.h"

namespace splitlet::fs {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Reads the whole file; RESOURCE_EXHAUSTED if it is longer than `max_bytes`. A folder, pipe or
/// device is an error.
StatusOr<std::string> ReadFile(const Fd& fd, uint64_t max_bytes);

/// Opens a file for reading that the descriptor only names (O_PATH). A folder, pipe or device is an
/// error and is not opened, because opening a device may have an effect, such as starting a
/// watchdog.
StatusOr<Fd> OpenRegularFile(const Fd& named);

}  // namespace splitlet::fs
