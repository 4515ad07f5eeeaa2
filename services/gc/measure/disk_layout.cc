#include "services/gc/measure/disk_layout.h"

#include "libs/cri/cri.h"
#include "services/gc/measure/tree_meter.h"

namespace splitlet::gc {

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
  // A device that cannot be read counts as that of the images.
  const auto apart = meter.DeviceOf(paths.containers);
  if (apart.ok()) layout.containers = *apart;
  return layout;
}

}  // namespace splitlet::gc
