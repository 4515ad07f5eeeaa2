#pragma once

/// Which file systems hold the pods' directories, the images, and the files that containers write.
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

/// Device numbers.
struct DiskLayout {
  uint64_t pods = 0, images = 0, containers = 0;
  /// Pods, images and containers share one file system.
  bool one() const { return images == pods && containers == pods; }
  bool operator==(const DiskLayout&) const = default;
};

/// Mount point of the file system that containers write to: that of the images, unless the runtime
/// reports another one. `report` must hold at least one file system of images.
const std::string& ContainerFsOf(const cri::ImageFsReport& report);

struct DiskPaths {
  std::string pods, images, containers;
};
StatusOr<DiskLayout> ReadDiskLayout(TreeMeter& meter, const DiskPaths& paths);

}  // namespace splitlet::gc
