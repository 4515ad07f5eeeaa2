#pragma once

/// Mounts of file systems, behind one interface: the kernel's, and a fake over files in memory.
/// Threads: any; calls block in the kernel.
/// Errors: by errno; PERMISSION_DENIED if the process may not mount; OUT_OF_RANGE if links lead out
/// of a volume, or nowhere.
/// Source: docs/behaviour/volumes.md, "subPath".

#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

struct MountRequest {
  std::string type;     // "tmpfs"
  std::string path;     // an existing directory
  std::string options;  // "size=1024"; of the file system, not flags
};

/// A part of a volume that becomes visible at another path too.
struct BindRequest {
  std::string root;    // of the volume
  std::string path;    // below the root; links that stay in the root are followed
  std::string target;  // a directory or file like the part; made in an existing folder
};

class Mounts {
 public:
  virtual ~Mounts() = default;
  /// True if exactly this path is a mount point; false for a link. NOT_FOUND: no such path.
  virtual StatusOr<bool> IsMountPoint(const std::string& path) = 0;
  /// Mounts over whatever is at the path.
  virtual Status Mount(const MountRequest& request) = 0;
  /// Makes missing directories of `path` below `root`, with the mode of the root. Links cannot lead
  /// the call out of the root.
  virtual Status MakeWithin(const std::string& root, const std::string& path) = 0;
  /// Binds the part that is at the path now to the target; later changes of the path do not matter.
  /// Replaces another part that was bound there. Makes missing directories as above. A hostile
  /// program may change the volume during the call: nothing outside of the root is made or bound.
  virtual Status BindWithin(const BindRequest& request) = 0;
  /// Unmounts the topmost mount. OK if nothing is mounted there or the path does not exist.
  virtual Status Unmount(const std::string& path) = 0;
};

class RealMounts final : public Mounts {
 public:
  StatusOr<bool> IsMountPoint(const std::string& path) override;
  Status Mount(const MountRequest& request) override;
  Status MakeWithin(const std::string& root, const std::string& path) override;
  Status BindWithin(const BindRequest& request) override;
  Status Unmount(const std::string& path) override;
};

}  // namespace splitlet::fs
