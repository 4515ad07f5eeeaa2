#pragma once

/// Properties of machine and system, as in `kubectl describe node`.
/// Threads: any; it blocks on files. Unreadable values are empty.
/// Source: Kubernetes API, NodeSystemInfo; os-release(5); machine-id(5).

#include <string>

#include "libs/fs/file_system.h"

namespace splitlet::node {

struct SystemInfo {
  std::string machine_id;
  std::string system_uuid;  // the firmware's id; the machine id if it is missing or unreadable
  std::string boot_id;
  std::string kernel_version;  // "6.1.0-28-amd64"
  std::string os_image;        // "Debian GNU/Linux 12 (bookworm)"
};

SystemInfo ReadSystemInfo(fs::FileSystem& files);

/// PRETTY_NAME of an os-release file, "Linux" if absent.
std::string ParseOsImage(const std::string& os_release);

}  // namespace splitlet::node
