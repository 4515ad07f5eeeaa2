#pragma once

/// Serves the three ports: secured, read-only and healthz. Tries again while a port is taken. Reads
/// the certificate when its files appear, and again when they change.
/// In:    settings; a timer.
/// Owns:  the servers.
/// Out:   requests, to the loop.
/// Killed at any line: connections end with the process.
/// Threads: loop thread; listening and files on strands; the servers have threads of their own.
/// Errors: in problem(), and once in the log. A certificate that status is still requesting
///         is logged only when it is late.
/// Source: docs/behaviour/node-api.md, "Ports".

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "libs/https/server.h"
#include "libs/https/tls_files.h"
#include "services/node-api/config.h"
#include "services/node-api/http/metrics.h"
#include "services/node-api/http/routes.h"

namespace splitlet::node_api {

class Listeners {
 public:
  using StartServer = std::function<StatusOr<std::unique_ptr<https::Server>>(
      https::ServerOptions options, https::Handler handler)>;
  using OnRequest = std::function<void(Surface surface, https::Request request,
                                       std::shared_ptr<https::Responder> responder)>;
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    const Log& log;
    NodeApiMetrics& metrics;
    StartServer start_server;
    OnRequest on_request;  // called on the loop
  };
  static constexpr Duration kPeriod = std::chrono::seconds{5};

  Listeners(Deps deps, const NodeApiConfig& config);
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  void Start();
  /// Why a port or the certificate is not served; empty: all is served.
  std::string problem() const;
  std::vector<std::string> Notes() const;
  /// Stops the servers. Call it on a thread that may block.
  void Stop(Duration grace);

 private:
  struct Port {
    Surface surface = Surface::kSecured;
    const char* name = "";
    https::ServerOptions options;
    std::shared_ptr<https::Server> server;  // null: not yet
    std::string trouble;
  };
  void AddPort(Surface surface, const char* name, https::ServerOptions options);
  void OnTimer();
  void Listen(size_t index);
  void OnListening(size_t index, StatusOr<std::shared_ptr<https::Server>> server);
  void InspectFiles();
  void OnInspected(const Status& problem, bool has_certificate);
  void Report(std::string& known, const Status& now, const char* server);
  void UpdateMetrics();

  Deps deps_;
  std::vector<Port> ports_;
  std::shared_ptr<https::TlsFiles> tls_;  // used on its strand only
  const Duration certificate_patience_;
  std::optional<Clock::Time> certificate_by_;  // time after which a missing certificate is logged
  std::string tls_trouble_, tls_logged_;
  bool has_certificate_ = false, inspecting_ = false, stopped_ = false;
  exec::Periodic timer_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
