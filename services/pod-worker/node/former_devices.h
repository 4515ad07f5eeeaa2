#pragma once

/// Resources of device plugins that a kubelet had on this node before. No plugin registers here, so
/// a pod cannot get one of these devices; the Node still shows them.
/// Threads: ReadFormerDevices blocks on one file, any; AddFormerDevices on the loop.
/// Errors:  those of the file, and INVALID_ARGUMENT for one that holds no such checkpoint.
/// Source:  docs/behaviour/node.md, "Devices of a former kubelet"; kubelet's checkpoint.

#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/node/node_record.h"

namespace splitlet::pod_worker {

/// The keys of `Data.RegisteredDevices` in `<root_dir>/device-plugins/kubelet_internal_checkpoint`,
/// sorted. No such file: none.
StatusOr<std::vector<std::string>> ReadFormerDevices(fs::FileSystem& files,
                                                     const std::string& root_dir);

/// Adds `devices` to the record of the node; a pod may be given none of them. An error is logged:
/// then pods that ask for a device may start.
void AddFormerDevices(const StatusOr<std::vector<std::string>>& devices, NodeRecord& record,
                      const Log& log);

}  // namespace splitlet::pod_worker
