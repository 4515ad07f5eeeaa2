#pragma once

/// The port of metrics and health. If another program has the port, the process reports it, works
/// on, and tries again.
/// Threads: Try by one at a time; the rest from any.
/// Errors: INVALID_ARGUMENT: malformed address.

#include <memory>
#include <mutex>
#include <string>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/daemon/http_server.h"
#include "libs/fs/file_system.h"

namespace splitlet::daemon {

class MetricsPort {
 public:
  struct Place {
    std::string address;
    std::string file;  // gets the address once we listen
  };
  MetricsPort(Place place, HttpHandler handler, fs::FileSystem& files, const Log& log);
  /// Listens if it does not yet, and logs changes. Every error but INVALID_ARGUMENT may be
  /// temporary.
  Status Try();
  /// Try, for an address that is known to be valid.
  void Retry() { static_cast<void>(Try()); }
  bool listens() const;
  /// Why it does not listen; empty: it listens.
  std::string trouble() const;
  /// "127.0.0.1:40123"; empty: none yet.
  std::string address() const;
  void Stop();

 private:
  Status Listen();

  const Place place_;
  const HttpHandler handler_;
  fs::FileSystem& files_;
  const Log& log_;
  mutable std::mutex mutex_;
  std::unique_ptr<HttpServer> server_;
  std::string trouble_;
};

}  // namespace splitlet::daemon
