#pragma once

/// A server on loopback whose connections a test answers byte by byte.
/// Threads: one of its own; `serve` runs on it.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "libs/base/status.h"

namespace splitlet::http {

/// Reads the head of each request and calls `serve` to answer it; one connection at a time.
class Server {
 public:
  using Serve = std::function<void(const std::string& request, int connection)>;
  explicit Server(Serve serve) : serve_(std::move(serve)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, length) == 0 && ::listen(listener_, 8) == 0);
    CHECK(::getsockname(listener_, any, &length) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string Url(const char* scheme = "http", const char* host = "127.0.0.1") const {
    return fmt::format("{}://{}:{}/hook", scheme, host, port);
  }
  uint16_t port = 0;
  std::atomic<int> requests{0};

 private:
  void Run() {
    while (true) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      char buffer[8192];
      const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
      ++requests;
      if (n > 0) serve_(std::string(buffer, static_cast<size_t>(n)), connection);
      ::close(connection);
    }
  }
  const Serve serve_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::thread thread_;
};

inline bool Send(int connection, const std::string& text) {
  return ::send(connection, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
}
inline Server::Serve Says(const std::string& head) {
  return [head](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 " + head + "\r\nContent-Length: 0\r\n\r\n");
  };
}

/// Reads until the client closes.
inline void WaitForEnd(int connection) {
  char byte = 0;
  while (::recv(connection, &byte, 1, 0) > 0) {
  }
}

}  // namespace splitlet::http
