#pragma once

/// The server's view of TLS: how a connection gets its wire. The server itself links no TLS
/// library, so that processes without TLS load none.
/// Threads: as tls.h says; nothing fails.

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "libs/https/wire.h"

namespace splitlet::https {

class TlsContext {
 public:
  virtual ~TlsContext() = default;
  virtual std::unique_ptr<Wire> MakeWire(boost::asio::ip::tcp::socket socket) const = 0;
};

}  // namespace splitlet::https
