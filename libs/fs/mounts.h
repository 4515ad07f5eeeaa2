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
  std::string options;  // options of the file system, not mount flags: "size=1024"
};

/// A part of a volume to bind at another path.
struct BindRequest {
  std::string root;    // root of the volume
  std::string path;    // path below the root; links that stay in the root are followed
  std::string target;  // a directory or file like the part; created in an existing folder
};

class Mounts {
 public:
  virtual ~Mounts() = default;
  /// True if exactly this path is a mount point; false for a link. NOT_FOUND: no such path.
  virtual StatusOr<bool> IsMountPoint(const std::string& path) = 0;
  /// Mounts over existing content of the path.
  virtual Status Mount(const MountRequest& request) = 0;
  /// Creates missing directories of `path` below `root`, with the mode of the root. No link can
  /// lead the call out of the root.
  virtual Status MakeWithin(const std::string& root, const std::string& path) = 0;
  /// Binds what `path` names now to the target; later changes of the path have no effect. Replaces
  /// another part that was bound at the target. Creates missing directories as above. A hostile
  /// program may change the volume during the call: nothing outside of the root is made or bound.
  virtual Status BindWithin(const BindRequest& request) = 0;
  /// Unmounts the topmost mount. Also OK if nothing is mounted there or the path does not exist.
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
