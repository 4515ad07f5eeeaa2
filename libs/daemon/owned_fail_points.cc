#include "libs/daemon/owned_fail_points.h"

#include "libs/base/processes.h"

namespace splitlet::daemon {

bool OwnsFailPoint(std::string_view process, std::string_view point) {
  const std::string_view part = point.substr(0, point.find('.'));
  if (FindProcess(part) != nullptr) return part == process;
  const ProcessRow* row = FindProcess(process);
  // pod-worker alone calls plugins of the node.
  if (part == "csi" || part == "plugins") return row == nullptr || process == "pod-worker";
  return part != "cri" || row == nullptr || row->calls_runtime;
}

}  // namespace splitlet::daemon
