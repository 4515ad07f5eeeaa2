#pragma once

/// Decides what to do next for each socket, from the desired world (sockets found) and the actual
/// world (plugins that a handler was given).
/// Threads: pure functions, any.
/// Units:   `now` and retry times by CLOCK_MONOTONIC.
/// Source:  kubelet pluginmanager reconciler.

#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/plugins/plugin.h"

namespace splitlet::plugins {

inline constexpr Duration kInitialBackoff = std::chrono::milliseconds{500};
inline constexpr Duration kMaxBackoff = std::chrono::seconds{122};

/// A plugin that was passed to its handler, and the socket as it was then.
struct RegisteredPlugin {
  PluginSocket socket;
  Plugin plugin;
};

/// The last attempt to register a socket has failed.
struct FailedAttempt {
  PluginSocket socket;
  Duration wait{0};
  Clock::Time again_at;
};

/// All by path.
struct PluginWorld {
  const std::map<std::string, PluginSocket>& desired;
  const std::map<std::string, RegisteredPlugin>& actual;
  const std::map<std::string, PluginSocket>& running;  // attempts under way
  const std::map<std::string, FailedAttempt>& failed;
};

/// To carry out in this order; each is sorted by path.
struct PluginActions {
  std::vector<std::string> abandon;     // attempts whose socket is gone or was created again
  std::vector<std::string> unregister;  // plugins whose socket is gone or was created again
  std::vector<std::string> begin;       // attempts
  Clock::Time next;                     // when a failed attempt is due; no time: none waits
  bool operator==(const PluginActions&) const = default;
};
PluginActions ComputePluginActions(const PluginWorld& world, Clock::Time now);

/// `before` null: no attempt has failed yet. A socket that was created again starts at the first
/// delay.
FailedAttempt ComputeFailedAttempt(const FailedAttempt* before, const PluginSocket& socket,
                                   Clock::Time now);

/// Next delay of an action that is repeated until it works.
Duration NextBackoff(Duration last);

/// Another socket has the same plugin with the same endpoint, so that its handler must keep it.
bool IsServedElsewhere(const std::map<std::string, RegisteredPlugin>& actual, const Plugin& gone);

}  // namespace splitlet::plugins
