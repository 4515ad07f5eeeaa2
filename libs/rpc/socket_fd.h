#pragma once

/// A socket or eventfd that is closed with its owner.
/// Threads: one.
/// Errors: none.

#include <unistd.h>

#include <utility>

namespace splitlet::rpc {

class SocketFd {
 public:
  explicit SocketFd(int fd = -1) : fd_(fd) {}
  SocketFd(SocketFd&& other) noexcept : fd_(other.Release()) {}
  SocketFd& operator=(SocketFd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }
  ~SocketFd() { Close(); }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

}  // namespace splitlet::rpc
