#pragma once

/// Mounts of file systems, behind one interface: the kernel's, and a fake over files in memory.
/// Threads: any; calls block in the kernel.
/// Errors: by errno; PERMISSION_DENIED where the process may not mount.

#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

struct MountRequest {
  std::string type;     // "tmpfs"
  std::string path;     // a directory that is there
  std::string options;  // "size=1024"; of the file system, not flags
};

class Mounts {
 public:
  virtual ~Mounts() = default;
  /// Whether something is mounted just there. A link is none; NOT_FOUND: there is no such path.
  virtual StatusOr<bool> IsMountPoint(const std::string& path) = 0;
  /// On top of what is there.
  virtual Status Mount(const MountRequest& request) = 0;
  /// The one on top. A path where nothing is mounted, or that is not there, is OK.
  virtual Status Unmount(const std::string& path) = 0;
};

class RealMounts final : public Mounts {
 public:
  StatusOr<bool> IsMountPoint(const std::string& path) override;
  Status Mount(const MountRequest& request) override;
  Status Unmount(const std::string& path) override;
};

}  // namespace splitlet::fs
