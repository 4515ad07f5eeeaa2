#pragma once

/// The part of a process that uses the plugins of one type. Register and DeRegister may end long
/// after the call, for instance when status has written the node's CSINode.
/// Calls for one plugin come in order and do not wait for earlier answers: the later call wins.
/// Threads: the loop thread calls; `done` is called once, on any thread. The registry drops an
/// answer that comes after its limit.
/// Errors:  the plugin reads the message of a refusal in NotifyRegistrationStatus.
/// Source:  kubelet pluginwatcher PluginHandler.

#include <functional>

#include "libs/base/status.h"
#include "libs/plugins/plugin.h"

namespace splitlet::plugins {

class PluginHandler {
 public:
  using Done = std::function<void(const Status&)>;
  virtual ~PluginHandler() = default;
  /// Judges name, endpoint and versions, without an effect.
  virtual Status Validate(const Plugin& plugin) = 0;
  /// Takes this endpoint for the plugin's name. After an error nothing of it is left.
  virtual void Register(const Plugin& plugin, Done done) = 0;
  /// Gives the name up if its endpoint is this one, else does nothing: the name may belong to a
  /// newer version of the plugin. Ends a Register of the same endpoint that has not answered. OK if
  /// the name is unknown; after an error the registry calls again.
  virtual void DeRegister(const Plugin& plugin, Done done) = 0;
};

}  // namespace splitlet::plugins
