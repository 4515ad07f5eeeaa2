#pragma once

/// Calls to the sockets of the registry directory. Real: grpc_registration_client.h; on virtual
/// time: fake_plugins.h.
/// Threads: Dial blocks on the file system alone and runs on a strand. A Begin is called on the
/// loop thread and does not wait; `done` is called once, on any thread, and must not block.
/// Errors:  gRPC codes of the plugin, unchanged.
/// Source:  kubelet pluginregistration v1.

#include <functional>
#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/plugins/plugin.h"

namespace splitlet::plugins {

/// The connection to one socket. It never connects again, so that both calls reach one process.
/// Its end cancels its calls.
class PluginConnection {
 public:
  using OnInfo = std::function<void(StatusOr<Plugin>)>;
  using OnNotified = std::function<void(Status)>;
  virtual ~PluginConnection() = default;
  /// Result: as the plugin sent it; its endpoint may be empty.
  virtual void BeginGetInfo(const Deadline& deadline, OnInfo done) = 0;
  /// OK: the plugin is registered, else the message is the reason.
  virtual void BeginNotify(const Status& outcome, const Deadline& deadline, OnNotified done) = 0;
};

class RegistrationClient {
 public:
  using Connection = std::shared_ptr<PluginConnection>;
  virtual ~RegistrationClient() = default;
  /// ABORTED if another socket took the place of the one that was found.
  virtual StatusOr<Connection> Dial(const PluginSocket& socket) = 0;
};

}  // namespace splitlet::plugins
