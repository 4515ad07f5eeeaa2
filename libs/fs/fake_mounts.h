#pragma once

/// Mounts over files in memory. Unmounting removes the files written at the mount point.
/// Threads: one.

#include <map>
#include <string>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/mounts.h"

namespace splitlet::fs {

class FakeMounts final : public Mounts {
 public:
  explicit FakeMounts(FakeFileSystem& files) : files_(files) {}

  /// Result of further calls to Mount or Unmount.
  void FailMount(const Status& why) { mount_error_ = why; }
  void FailUnmount(const Status& why) { unmount_error_ = why; }
  /// The topmost mount at each path. A bind mount has the type "bind" and its source as options.
  const std::map<std::string, MountRequest>& mounted() const { return mounted_; }

  StatusOr<bool> IsMountPoint(const std::string& path) override {
    RETURN_IF_ERROR(files_.Stat(path, false), "stat");
    return mounted_.contains(path);
  }
  Status Mount(const MountRequest& request) override;
  Status MakeWithin(const std::string& root, const std::string& path) override;
  Status BindWithin(const BindRequest& request) override;
  Status Unmount(const std::string& path) override;

 private:
  FakeFileSystem& files_;
  std::map<std::string, MountRequest> mounted_;
  Status mount_error_, unmount_error_;
};

}  // namespace splitlet::fs
