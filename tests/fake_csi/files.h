#pragma once

/// The files of fake-csi: target paths of volumes in place of mounts, and a file with its state.
/// Threads: any.
/// Errors: those of the file system.

#include <mutex>
#include <string>

#include "libs/base/status.h"
#include "libs/csi/fake_driver.h"

namespace splitlet::fake_csi {

/// A directory with the file `handle`, or a file for a block volume.
Status MakeTarget(const ::csi::v1::NodePublishVolumeRequest& request);
Status RemoveTarget(const std::string& path);

/// Replaced on each change, so that a kill right after an answer loses nothing.
class StateFile {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}
  Status Load(csi::FakeDriver& driver) const;
  void Save(const csi::FakeDriver& driver);

 private:
  const std::string path_;  // empty: no file
  std::mutex mutex_;
};

}  // namespace splitlet::fake_csi
