#pragma once

/// The API server in memory behind HTTPS: who asks is known by the client's certificate or token.
/// Threads: answers on the HTTPS server's thread, watches also on that of a change; methods: one.
/// Errors:  from Start when the port cannot be used.
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
    std::string certificate, key;  // PEM, of the server
    std::string client_ca;         // PEM
    bool rbac = false;             // who is not known is refused, and who may not as well
  };
  virtual ~Server() = default;
  static StatusOr<std::unique_ptr<Server>> Start(const Clock& clock, FakeApiServer& api,
                                                 Options options);
  virtual uint16_t port() const = 0;
  /// Nobody can connect while it is away, and connections end.
  virtual Status SetAway(bool away) = 0;
};

}  // namespace splitlet::fake_api
