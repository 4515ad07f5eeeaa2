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
  /// By path; the one on top. Of one that is bound the type is "bind" and the options are the path
  /// of what is seen.
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
