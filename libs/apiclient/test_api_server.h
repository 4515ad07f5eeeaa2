#pragma once

/// A server on loopback that keeps its connections, with or without TLS, and answers each request
/// by a test's function.
/// Threads: one that accepts, one for each connection; `serve` runs on these.

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::apiclient {

/// A connection, used by its thread.
class Peer {
 public:
  Peer(int socket, SSL_CTX* context, int count) : number(count), socket_(socket) {
    if (context == nullptr) return;
    tls_.reset(SSL_new(context));
    SSL_set_fd(tls_.get(), socket_);
    usable_ = SSL_accept(tls_.get()) == 1;
  }
  bool usable() const { return usable_; }
  bool Write(const std::string& text) {
    if (tls_ != nullptr)
      return SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())) > 0;
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
  }
  bool Answer(int code, const std::string& body, const std::string& headers = "") {
    return Write(fmt::format("HTTP/1.1 {} Word\r\n{}Content-Length: {}\r\n\r\n{}", code, headers,
                             body.size(), body));
  }
  bool WriteChunk(const std::string& text) {
    return Write(fmt::format("{:x}\r\n{}\r\n", text.size(), text));
  }
  /// Received bytes; empty: the peer is gone.
  std::string Read() {
    char buffer[16384];
    const auto n = tls_ != nullptr ? SSL_read(tls_.get(), buffer, sizeof(buffer))
                                   : ::recv(socket_, buffer, sizeof(buffer), 0);
    return n <= 0 ? std::string() : std::string(buffer, static_cast<size_t>(n));
  }
  void WaitForEnd() {
    while (!Read().empty()) {
    }
  }
  /// The common name of the client's certificate; empty: none.
  std::string Name() const {
    if (tls_ == nullptr) return {};
    const std::unique_ptr<X509, void (*)(X509*)> shown(SSL_get1_peer_certificate(tls_.get()),
                                                       X509_free);
    char name[64] = "";
    if (shown != nullptr)
      X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name,
                                sizeof(name));
    return name;
  }
  const int number;  // number of the connection, from 1

 private:
  int socket_;
  bool usable_ = true;
  std::unique_ptr<SSL, void (*)(SSL*)> tls_{nullptr, SSL_free};
};

class TestApiServer {
 public:
  struct Asked {
    std::string head, body;
    bool Has(const std::string& line) const { return head.find(line + "\r\n") != head.npos; }
  };
  /// False: the connection is closed.
  using Serve = std::function<bool(const Asked&, Peer&)>;

  /// The raw answer on a connection that does not speak HTTP/1.1.
  using Talk = std::function<void(Peer&)>;

  explicit TestApiServer(Serve serve, std::shared_ptr<SSL_CTX> context = nullptr,
                         Talk talk = nullptr)
      : serve_(std::move(serve)), talk_(std::move(talk)), context_(std::move(context)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, length) == 0 && ::listen(listener_, 128) == 0);
    CHECK(::getsockname(listener_, any, &length) == 0);
    port = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~TestApiServer() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (auto& thread : threads_) thread.join();
    ::close(listener_);
  }
  std::string url() const {
    return fmt::format("http{}://127.0.0.1:{}", context_ == nullptr ? "" : "s", port);
  }
  uint16_t port = 0;
  std::atomic<int> requests{0}, connections{0};

 private:
  void Accept() {
    while (true) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      const std::lock_guard lock(mutex_);
      if (ended_) {
        ::close(socket);
        return;
      }
      open_.push_back(socket);
      threads_.emplace_back([this, socket, number = ++connections] { Work(socket, number); });
    }
  }
  void Work(int socket, int number) {
    {
      Peer peer(socket, context_.get(), number);
      std::string buffer;
      if (talk_ && peer.usable()) talk_(peer);
      while (!talk_ && peer.usable()) {
        const auto asked = ReadRequest(peer, buffer);
        if (asked.head.empty()) break;
        ++requests;
        if (!serve_(asked, peer)) break;
      }
    }
    const std::lock_guard lock(mutex_);
    open_.remove(socket);
    ::close(socket);
  }
  static Asked ReadRequest(Peer& peer, std::string& buffer) {
    Asked asked;
    size_t end = 0;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
      const std::string more = peer.Read();
      if (more.empty()) return {};
      buffer += more;
    }
    asked.head = buffer.substr(0, end + 2);
    const size_t at = asked.head.find("Content-Length: ");
    const size_t length = at == std::string::npos ? 0 : std::stoul(asked.head.substr(at + 16));
    while (buffer.size() < end + 4 + length) {
      const std::string more = peer.Read();
      if (more.empty()) return {};
      buffer += more;
    }
    asked.body = buffer.substr(end + 4, length);
    buffer.erase(0, end + 4 + length);
    return asked;
  }

  const Serve serve_;
  const Talk talk_;
  const std::shared_ptr<SSL_CTX> context_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::mutex mutex_;  // guards the next three members
  bool ended_ = false;
  std::list<int> open_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace splitlet::apiclient
