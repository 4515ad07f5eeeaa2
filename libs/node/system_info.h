#pragma once

/// Machine and system, as `kubectl describe node` shows them.
/// Threads: any; it blocks on files. Unreadable values are empty.
/// Source: Kubernetes API, NodeSystemInfo; os-release(5); machine-id(5).

#include <string>

#include "libs/fs/file_system.h"

namespace splitlet::node {

struct SystemInfo {
  std::string machine_id;
  std::string system_uuid;  // the firmware's; the machine id if missing or unreadable
  std::string boot_id;
  std::string kernel_version;  // "6.1.0-28-amd64"
  std::string os_image;        // "Debian GNU/Linux 12 (bookworm)"
};

SystemInfo ReadSystemInfo(fs::FileSystem& files);

/// PRETTY_NAME of an os-release file, "Linux" without one.
std::string ParseOsImage(const std::string& os_release);

}  // namespace splitlet::node
