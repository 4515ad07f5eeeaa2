#pragma once

/// Values that the parts of this library share: a socket of the registry directory, the plugin
/// behind it, and the bounds of a plugin's answer.
/// Threads: values and pure functions, any.
/// Errors:  CheckPlugin: INVALID_ARGUMENT with the field, the reason and the limit.
/// Source:  kubelet pluginregistration v1; kubelet pluginmanager.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/base/status.h"

namespace splitlet::plugins {

inline constexpr const char* kCsiPlugin = "CSIPlugin";
inline constexpr const char* kDevicePlugin = "DevicePlugin";
inline constexpr const char* kDraPlugin = "DRAPlugin";

/// `sun_path` of a unix socket's address has 108 bytes, one of them for the end.
inline constexpr size_t kMaxSocketPath = 107;
inline constexpr size_t kMaxPluginName = 256;  // bytes; of the type too
inline constexpr size_t kMaxVersions = 64;
inline constexpr size_t kMaxVersion = 256;  // bytes

/// A socket as an inspection found it. A socket that was created again has another inode or time.
struct PluginSocket {
  std::string path;
  uint64_t inode = 0;
  WallTime created;
  bool operator==(const PluginSocket&) const = default;
};

struct Plugin {
  std::string socket;  // path in the registry directory
  std::string type;
  std::string name;
  std::string endpoint;  // path of the socket that serves the plugin's own calls
  std::vector<std::string> versions;
  bool operator==(const Plugin&) const = default;
};

/// Name, type, endpoint and socket, for a log line.
std::vector<LogField> FieldsOf(const Plugin& plugin);

/// Checks a plugin's answer, with the endpoint filled in. The handler judges its versions.
Status CheckPlugin(const Plugin& plugin);

}  // namespace splitlet::plugins
