#pragma once

/// A blocking client on loopback, byte by byte, over TLS or plain, for tests. Reads give up after
/// ten seconds.
/// Threads: one.

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/https/test_pki.h"

namespace splitlet::https {

class TestClient {
 public:
  /// `family`: AF_INET or AF_INET6.
  explicit TestClient(uint16_t port, int family = AF_INET)
      : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    six.sin6_addr = IN6ADDR_LOOPBACK_INIT;
    const auto* address = family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&six)
                                             : reinterpret_cast<const sockaddr*>(&four);
    connected = ::connect(socket_, address, family == AF_INET6 ? sizeof(six) : sizeof(four)) == 0;
  }
  ~TestClient() { ::close(socket_); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  struct Tls {
    const TestIdentity* identity = nullptr;  // null: sends no certificate
    int max_version = 0;                     // 0: the newest version
    const char* suites = nullptr;            // TLS 1.2 suites by OpenSSL's names; null: all
  };
  /// False: the handshake failed.
  bool Handshake(const Tls& wanted) {
    signal(SIGPIPE, SIG_IGN);  // as every process does, because OpenSSL has no MSG_NOSIGNAL
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), wanted.max_version);
    if (wanted.suites != nullptr)
      CHECK(SSL_CTX_set_cipher_list(context_.get(), wanted.suites) == 1);
    if (wanted.identity != nullptr) {
      SSL_CTX_use_certificate(context_.get(), wanted.identity->certificate());
      SSL_CTX_use_PrivateKey(context_.get(), wanted.identity->key());
    }
    tls_.reset(SSL_new(context_.get()));
    SSL_set_fd(tls_.get(), socket_);
    const bool made = SSL_connect(tls_.get()) == 1;
    ERR_clear_error();
    return made;
  }
  bool Write(std::string_view bytes) {
    if (tls_ == nullptr) {
      return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(bytes.size());
    }
    return SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  /// The next bytes; empty: the connection ended, or nothing came.
  std::string Read() {
    char buffer[16384];
    const ssize_t n = tls_ == nullptr ? ::recv(socket_, buffer, sizeof(buffer), 0)
                                      : SSL_read(tls_.get(), buffer, sizeof(buffer));
    ERR_clear_error();
    return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
  }
  std::string ReadUntil(std::string_view end) {
    while (seen_.find(end) == std::string::npos) {
      const std::string more = Read();
      if (more.empty()) break;
      seen_ += more;
    }
    const auto at = seen_.find(end);
    const size_t size = at == std::string::npos ? seen_.size() : at + end.size();
    std::string taken = seen_.substr(0, size);
    seen_.erase(0, size);
    return taken;
  }
  std::string ReadAll() {
    std::string all = std::move(seen_);
    for (std::string more = Read(); !more.empty(); more = Read()) all += more;
    return all;
  }
  std::string Ask(const std::string& head, std::string_view end) {
    return Write(head + "\r\n\r\n") ? ReadUntil(end) : std::string();
  }
  void HalfClose() { ::shutdown(socket_, SHUT_WR); }
  std::string server_name() const {
    const std::unique_ptr<X509, void (*)(X509*)> peer(SSL_get1_peer_certificate(tls_.get()),
                                                      &X509_free);
    char name[128] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, name,
                              sizeof(name));
    return name;
  }

  bool connected = false;

 private:
  const int socket_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_{nullptr, &SSL_CTX_free};
  std::unique_ptr<SSL, void (*)(SSL*)> tls_{nullptr, &SSL_free};
  std::string seen_;
};

}  // namespace splitlet::https
