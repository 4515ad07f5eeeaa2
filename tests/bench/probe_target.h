#pragma once

/// A server on loopback for the probes of a benchmark.
/// Threads: one of its own, which answers; Take from any.
/// Errors:  a server that cannot be started ends the benchmark.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::bench {

using Asked = std::map<std::string, std::vector<Clock::Time>>;  // times of requests by path

/// Answers requests one after the other, and records the time of each by path.
class ProbeTarget {
 public:
  ProbeTarget() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, length) == 0 && ::listen(listener_, 4096) == 0);
    CHECK(::getsockname(listener_, any, &length) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~ProbeTarget() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  ProbeTarget(const ProbeTarget&) = delete;
  ProbeTarget& operator=(const ProbeTarget&) = delete;
  /// By path, the times of requests since the last Take.
  Asked Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }
  uint16_t port = 0;

 private:
  void Run() {
    while (true) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      char buffer[2048];
      const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
      const std::string_view request(buffer, n > 0 ? static_cast<size_t>(n) : 0);
      if (request.starts_with("GET ")) {
        const std::lock_guard lock(mutex_);
        asked_[std::string(request.substr(4, request.find(' ', 4) - 4))].push_back(clock_.Now());
      }
      static constexpr std::string_view kAnswer =
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
      ::send(connection, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
      ::close(connection);
    }
  }
  const RealClock clock_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::mutex mutex_;
  Asked asked_;
  std::thread thread_;
};

}  // namespace splitlet::bench
