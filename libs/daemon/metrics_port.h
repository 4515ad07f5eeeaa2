#pragma once

/// The port of metrics and health. One that is taken is reported and tried again: a stranger must
/// not keep the process from its work.
/// Threads: Try by one at a time; the rest from any.
/// Errors: INVALID_ARGUMENT for what is no address.

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
    std::string file;  // where the address is written once it is ours
  };
  MetricsPort(Place place, HttpHandler handler, fs::FileSystem& files, const Log& log);
  /// Listens, unless it does already, and logs what changed. Anything but INVALID_ARGUMENT may
  /// pass.
  Status Try();
  /// The same, once it is known that the address is one.
  void Retry() { static_cast<void>(Try()); }
  bool listens() const;
  /// Why it does not listen; empty: it does.
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
