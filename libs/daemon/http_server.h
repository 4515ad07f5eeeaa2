#pragma once

/// The server of /metrics, /healthz and /readyz: GET, HEAD; bounded in connections, memory, time.
/// Threads: an own one; the handler runs on it and must not block.
/// Errors: from Start, by errno or INVALID_ARGUMENT for the address.
/// Source: docs/libraries.md, "Metrics and logs".

#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"

namespace splitlet::daemon {

struct HttpReply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

/// `path` without query.
using HttpHandler = std::function<HttpReply(const std::string& path)>;

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  /// "127.0.0.1:40123": with the actual port.
  virtual const std::string& address() const = 0;
};

/// `address`: "127.0.0.1:0", "[::1]:9100", ":9100" (all addresses of both families).
StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(const std::string& address,
                                                      HttpHandler handler);

}  // namespace splitlet::daemon
