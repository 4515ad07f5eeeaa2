#pragma once

/// Mounts over files in memory: what is mounted is a mount point to them, and what was written
/// there goes with it.
/// Threads: one.

#include <map>
#include <string>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/mounts.h"

namespace splitlet::fs {

class FakeMounts final : public Mounts {
 public:
  explicit FakeMounts(FakeFileSystem& files) : files_(files) {}

  /// What Mount, or Unmount, gives from now on.
  void FailMount(const Status& why) { mount_error_ = why; }
  void FailUnmount(const Status& why) { unmount_error_ = why; }
  /// By path; the one on top.
  const std::map<std::string, MountRequest>& mounted() const { return mounted_; }

  StatusOr<bool> IsMountPoint(const std::string& path) override {
    RETURN_IF_ERROR(files_.Stat(path, false), "stat");
    return mounted_.contains(path);
  }
  Status Mount(const MountRequest& request) override {
    RETURN_IF_ERROR(mount_error_, "mount");
    RETURN_IF_ERROR(files_.Stat(request.path, false), "stat");
    mounted_[request.path] = request;
    files_.SetMountPoint(request.path);
    return OkStatus();
  }
  Status Unmount(const std::string& path) override {
    RETURN_IF_ERROR(unmount_error_, "unmount");
    if (mounted_.erase(path) != 0) files_.EndMountPoint(path);
    return OkStatus();
  }

 private:
  FakeFileSystem& files_;
  std::map<std::string, MountRequest> mounted_;
  Status mount_error_, unmount_error_;
};

}  // namespace splitlet::fs
