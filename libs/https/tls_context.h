#pragma once

/// What TlsContext is, for the wire.
/// Threads: as tls.h says; nothing fails.

#include <boost/asio/ssl/context.hpp>

#include "libs/https/tls.h"

namespace splitlet::https {

class TlsContext {
 public:
  TlsContext() : context_(boost::asio::ssl::context::tls_server) {}
  /// Asio takes it as one that it may change; it does not, for streams.
  boost::asio::ssl::context& context() const { return context_; }

 private:
  mutable boost::asio::ssl::context context_;
};

}  // namespace splitlet::https
