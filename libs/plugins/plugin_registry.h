#pragma once

/// The plugins of the node: finds their sockets in the registry directory, asks each for its
/// identity, passes it to the handler of its type, and reports the result to the plugin.
/// In:      sockets found; answers of plugins and of handlers; due attempts.
/// Owns:    the actual world: plugins that a handler was given; attempts under way and failed.
/// Out:     GetInfo and NotifyRegistrationStatus; Validate, Register and DeRegister of handlers.
/// Threads: the loop thread. A plugin that hangs holds no thread and delays no other plugin.
/// Errors:  a Warn line for each new one; the attempt is repeated with back-off. Texts to the
///          plugin are a kubelet's.
/// Killed at any line: nothing is lost; the next start finds the sockets and registers them again.
/// Source:  kubelet pluginmanager; docs/safety.md, rules 1, 7 and 27.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/fs/file_system.h"
#include "libs/fs/file_watcher.h"
#include "libs/plugins/departures.h"
#include "libs/plugins/plugin_handler.h"
#include "libs/plugins/plugin_metrics.h"
#include "libs/plugins/registration_client.h"
#include "libs/plugins/registration_plan.h"
#include "libs/plugins/socket_watch.h"

namespace splitlet::plugins {

struct RegistryLimits {
  Duration dial = std::chrono::seconds{10};
  Duration get_info = std::chrono::seconds{1};
  Duration notify = std::chrono::seconds{5};
  /// Until a handler answers. Unset: it may wait for the API server as long as that is away; the
  /// attempt then holds one connection and no thread.
  std::optional<Duration> registration = std::chrono::minutes{5};
  Duration de_registration = std::chrono::minutes{2};
};

class PluginRegistry {
 public:
  struct Deps {
    const exec::Env& env;
    fs::FileSystem& files;       // outlives the strands
    RegistrationClient& client;  // outlives the strands
    std::function<std::unique_ptr<fs::FileWatcher>()> make_watcher;
    std::map<std::string, PluginHandler*> handlers;  // by type
    std::string directory;                           // plugins_registry
    RegistryLimits limits = {};
  };
  explicit PluginRegistry(Deps deps);
  PluginRegistry(const PluginRegistry&) = delete;
  PluginRegistry& operator=(const PluginRegistry&) = delete;

  /// The handlers' process is ready for plugins.
  void Start() { watch_.Start(); }
  /// Plugins that a handler was given, by socket; some may not have its answer yet.
  std::vector<Plugin> GetPlugins() const;

 private:
  enum class AttemptState { kDialing, kAsking, kRegistering, kReporting };
  struct Attempt {
    uint64_t id = 0;
    PluginSocket socket;
    AttemptState state = AttemptState::kDialing;
    exec::TimerId timer = 0;
    RegistrationClient::Connection connection;
    Plugin plugin;   // from kRegistering on
    Status outcome;  // in kReporting: what the plugin is sent
  };
  struct AttemptId {
    std::string path;
    uint64_t id = 0;
  };
  using Connected = StatusOr<RegistrationClient::Connection>;

  void OnFound(const FoundSockets& found);
  void OnDialed(const AttemptId& id, Connected connection);
  void OnInfo(const AttemptId& id, StatusOr<Plugin> info);
  void OnRegistered(const AttemptId& id, const Status& registered, bool answered);
  void OnReported(const AttemptId& id, const Status& reported);
  void OnGone(const Plugin& plugin);

  void Reconcile();
  void Abandon(const std::string& path);
  void Unregister(const std::string& path, std::string_view reason);
  void Begin(const PluginSocket& socket);
  void Register(Attempt& attempt);
  void Report(Attempt& attempt, const Status& outcome);
  void Fail(const Attempt& attempt, const Status& error);
  void SetMetrics();
  Attempt* Find(const AttemptId& id, AttemptState state);
  Status Validate(const Plugin& plugin) const;

  const Deps deps_;
  const exec::Env env_;
  PluginMetrics metrics_;
  SocketWatch watch_;
  Departures departures_;
  std::map<std::string, RegisteredPlugin> actual_;
  std::map<std::string, Attempt> attempts_;
  struct Failure {
    std::string plugin;  // its name, if it is known
    std::string error;   // logged
  };
  std::map<std::string, FailedAttempt> failed_;
  std::map<std::string, Failure> failures_;  // for each of failed_
  uint64_t last_attempt_ = 0;
  exec::TimerId due_ = 0;
  exec::Asker asker_;  // last: its end drops answers
};

}  // namespace splitlet::plugins
