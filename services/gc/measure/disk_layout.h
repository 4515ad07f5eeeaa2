#pragma once

/// Which file systems hold the pods' directories, the images, and what containers write; and so
/// what of a pod, and of what the node can free, counts for a signal.
/// Threads: ReadDiskLayout blocks, the rest is pure.
/// Errors: the runtime's; those of the disk.
/// Source: docs/behaviour/eviction.md, "Disks"; kubelet HasDedicatedImageFs, KEP-4191.

#include <cstdint>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::cri {
class Images;
struct ImageFsReport;
}  // namespace splitlet::cri

namespace splitlet::gc {

class TreeMeter;

/// Devices.
struct DiskLayout {
  uint64_t pods = 0, images = 0, containers = 0;
  /// All on one; pods share theirs with whatever fills it.
  bool one() const { return images == pods && containers == pods; }
  bool operator==(const DiskLayout&) const = default;
};

/// Where containers write, as a path: beside the images unless the runtime says otherwise. The
/// report names at least one file system of images.
const std::string& ContainerFsOf(const cri::ImageFsReport& report);

struct DiskPaths {
  std::string pods, images, containers;
};
StatusOr<DiskLayout> ReadDiskLayout(TreeMeter& meter, const DiskPaths& paths);

}  // namespace splitlet::gc
