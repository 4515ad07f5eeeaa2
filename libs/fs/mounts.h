#pragma once

/// Mounts of file systems, behind one interface: the kernel's, and a fake over files in memory.
/// Threads: any; calls block in the kernel.
/// Errors: by errno; PERMISSION_DENIED where the process may not mount; OUT_OF_RANGE where links
/// lead out of a volume, or nowhere.
/// Source: docs/behaviour/volumes.md, "subPath".

#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

struct MountRequest {
  std::string type;     // "tmpfs"
  std::string path;     // a directory that is there
  std::string options;  // "size=1024"; of the file system, not flags
};

/// A part of a volume that is to be seen at another place too.
struct BindRequest {
  std::string root;    // of the volume
  std::string path;    // below it; links are followed that stay in it
  std::string target;  // a directory or file, as the part is; made in a folder that is there
};

class Mounts {
 public:
  virtual ~Mounts() = default;
  /// Whether something is mounted just there. A link is none; NOT_FOUND: there is no such path.
  virtual StatusOr<bool> IsMountPoint(const std::string& path) = 0;
  /// On top of what is there.
  virtual Status Mount(const MountRequest& request) = 0;
  /// Missing directories of `path` are made below `root`, with the mode of the root. Nothing
  /// outside of it is looked at, whatever links are in it.
  virtual Status MakeWithin(const std::string& root, const std::string& path) = 0;
  /// What is at the path now stays at the target, whatever becomes of the path; what was bound
  /// there before and is something else is replaced. Missing directories are made, as above.
  /// Somebody hostile may change the volume meanwhile: nothing outside of it is ever made or bound.
  virtual Status BindWithin(const BindRequest& request) = 0;
  /// The one on top. A path where nothing is mounted, or that is not there, is OK.
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
