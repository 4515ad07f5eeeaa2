#pragma once

/// The bytes of one connection, over TLS or plain.
/// Threads: the server's. Callbacks must keep the wire alive until they are called.
/// Errors:  Asio's; calls to a closed wire end with one.

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>

#include "libs/https/tls.h"

namespace splitlet::https {

class Wire {
 public:
  using Done = std::function<void(boost::system::error_code error, size_t bytes)>;
  virtual ~Wire() = default;
  virtual void Handshake(std::function<void(boost::system::error_code)> done) = 0;
  virtual void ReadSome(boost::asio::mutable_buffer into, Done done) = 0;
  /// Writes all bytes, which must stay valid until `done`.
  virtual void Write(boost::asio::const_buffer bytes, Done done) = 0;
  /// Announces the end of our bytes, then reads and drops the peer's, because with unread bytes the
  /// kernel would discard our last ones. `done`: the peer has closed too. A running read gets
  /// nothing.
  virtual void ShutDown(std::function<void()> done) = 0;
  virtual void Close() = 0;
  /// Null for a plain connection.
  virtual SSL* ssl() = 0;
};
/// The second half of ShutDown. `done` keeps the socket alive.
void Drain(boost::asio::ip::tcp::socket& socket, std::function<void()> done);
std::unique_ptr<Wire> MakePlainWire(boost::asio::ip::tcp::socket socket);

}  // namespace splitlet::https
