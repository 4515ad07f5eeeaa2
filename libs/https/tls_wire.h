#pragma once

/// A connection's wire over TLS, by OpenSSL.
/// Threads: the server's; the context is immutable once set up.
/// Errors:  as those of Wire.

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "libs/https/tls_context.h"

namespace splitlet::https {

class SslContext final : public TlsContext, public std::enable_shared_from_this<SslContext> {
 public:
  std::unique_ptr<Wire> MakeWire(boost::asio::ip::tcp::socket socket) const override;
  /// Asio wants a mutable context, but streams do not change it.
  boost::asio::ssl::context& context() const { return context_; }

 private:
  mutable boost::asio::ssl::context context_{boost::asio::ssl::context::tls_server};
};

}  // namespace splitlet::https
