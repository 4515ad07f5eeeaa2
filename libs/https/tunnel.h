#pragma once

/// Forwards bytes both ways between a client and a backend, after the backend has accepted an
/// upgrade.
/// Owns:    the connection to the backend.
/// Threads: the server's.
/// Errors:  reported when the tunnel ends.
/// Source:  docs/behaviour/node-api.md, "Streams".

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "libs/https/server.h"

namespace splitlet::https {

/// The client's connection, which stays alive while the tunnel uses it.
class TunnelClient {
 public:
  virtual ~TunnelClient() = default;
  /// Delivers the bytes that have come, or come next; empty: the end.
  virtual void ReadBytes(std::function<void(std::string bytes)> done) = 0;
  virtual void WriteBytes(std::string bytes, std::function<void(bool written)> done) = 0;
  /// Answers in place of the backend.
  virtual void FailTunnel(const std::string& why) = 0;
  /// Called last by a tunnel.
  virtual void EndTunnel() = 0;
};

class Tunnel : public std::enable_shared_from_this<Tunnel> {
 public:
  /// Keeps `client` until the end. After the upgrade silence has no limit: the keepalive of the
  /// sockets finds dead peers. A peer that reads nothing for `write_limit` is cut.
  Tunnel(boost::asio::io_context& context, Backend backend, Duration write_limit,
         std::shared_ptr<TunnelClient> client);
  void Start();
  /// Closes without an answer to the client.
  void Close();

 private:
  /// Time limit of one wait.
  struct Limit {
    boost::asio::steady_timer timer;
    uint64_t armed = 0;
  };
  void Arm(Limit& limit, Duration duration);
  static void Disarm(Limit& limit);
  void SendHead();
  void ReadAnswer();
  void OnAnswer();
  void FromBackend();
  void FromClient();
  void Fail(const std::string& why);
  void End();

  Backend backend_;
  std::shared_ptr<TunnelClient> client_;  // null: closed
  boost::asio::ip::tcp::socket socket_;
  const Duration write_limit_;
  Limit answer_limit_, to_backend_limit_, to_client_limit_;
  std::string answer_, to_backend_;
  std::array<char, 16 << 10> incoming_{};
};

}  // namespace splitlet::https
