#include "services/gc/eviction/disk_layout.h"

#include <optional>

#include "libs/cri/cri.h"
#include "services/gc/eviction/tree_meter.h"

namespace splitlet::gc {
namespace {

std::optional<uint64_t> DeviceOfSignal(const std::string& signal, const DiskLayout& layout) {
  if (signal.starts_with("nodefs.")) return layout.pods;
  if (signal.starts_with("imagefs.")) return layout.images;
  if (signal.starts_with("containerfs.")) return layout.containers;
  return std::nullopt;
}

}  // namespace

DiskScope ScopeOfSignal(const std::string& signal, const DiskLayout& layout) {
  const auto device = DeviceOfSignal(signal, layout);
  if (!device) return {};
  return {.layers = *device == layout.containers, .rest = *device == layout.pods};
}

NodeReclaim ReclaimFor(const std::string& signal, const DiskLayout& layout) {
  const auto device = DeviceOfSignal(signal, layout);
  if (!device) return {};
  return {.containers = *device == layout.containers, .images = *device == layout.images};
}

const std::string& ContainerFsOf(const cri::ImageFsReport& report) {
  const auto& listed = report.containers.empty() ? report.images : report.containers;
  return listed.front().mountpoint;
}

StatusOr<DiskLayout> ReadDiskLayout(TreeMeter& meter, const DiskPaths& paths) {
  DiskLayout layout;
  ASSIGN_OR_RETURN(layout.pods, meter.DeviceOf(paths.pods), "device of pods");
  ASSIGN_OR_RETURN(layout.images, meter.DeviceOf(paths.images), "device of the images");
  layout.containers = layout.images;
  if (paths.containers == paths.images) return layout;
  // One that is not to be seen from here counts as that of the images.
  const auto apart = meter.DeviceOf(paths.containers);
  if (apart.ok()) layout.containers = *apart;
  return layout;
}

}  // namespace splitlet::gc
