#pragma once

/// The API server in memory behind HTTPS, which identifies clients by certificate or token.
/// Threads: answers on the HTTPS server's thread, watches also on that of a change; methods: one.
/// Errors:  of Start: the port cannot be used.
/// Source:  Kubernetes API, "Authenticating".

#include <cstdint>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/fake_api/api_server.h"

namespace splitlet::fake_api {

class Server {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    uint16_t port = 0;
    std::string certificate, key;  // the server's, in PEM
    std::string client_ca;         // PEM
    bool rbac = false;             // true: refuses unknown and unauthorized clients
  };
  virtual ~Server() = default;
  static StatusOr<std::unique_ptr<Server>> Start(const Clock& clock, FakeApiServer& api,
                                                 Options options);
  virtual uint16_t port() const = 0;
  /// While it is away, connections end and new ones are refused.
  virtual Status SetAway(bool away) = 0;
};

}  // namespace splitlet::fake_api
