#pragma once

/// De-registers plugins that are gone, until their handler succeeds.
/// In:      Add and Withdraw of the registry; answers of handlers.
/// Owns:    plugins that a handler has not given up yet.
/// Out:     DeRegister of the handler; on_gone after its success.
/// Threads: the loop thread.
/// Errors:  a Warn line for each new one; the call is repeated with back-off. Above kMost entries
///          the plugin is only logged.
/// Source:  docs/safety.md, rule 1.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/plugins/plugin_handler.h"

namespace splitlet::plugins {

class Departures {
 public:
  static constexpr size_t kMost = 256;

  /// `limit`: of one call. `on_gone` runs on the loop.
  Departures(const exec::Env& env, Duration limit, std::function<void(const Plugin&)> on_gone);

  void Add(const Plugin& plugin, PluginHandler& handler);
  /// The plugin is about to register with the same endpoint.
  void Withdraw(const Plugin& plugin);
  size_t size() const { return leaving_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // type, name, endpoint
  struct Leaving {
    Plugin plugin;
    PluginHandler* handler = nullptr;
    uint64_t call = 0;  // number of the call under way
    exec::TimerId timer = 0;
    Duration wait{0};   // before the next call
    std::string error;  // logged
  };
  static Key KeyOf(const Plugin& plugin) { return {plugin.type, plugin.name, plugin.endpoint}; }
  void Call(const Key& key, Leaving& leaving);
  void OnDeRegistered(const Key& key, uint64_t call, const Status& status);

  const exec::Env env_;
  const Duration limit_;
  const std::function<void(const Plugin&)> on_gone_;
  std::map<Key, Leaving> leaving_;
  uint64_t last_call_ = 0;
  exec::Asker asker_;  // last: its end drops answers
};

}  // namespace splitlet::plugins
