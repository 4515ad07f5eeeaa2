#pragma once

/// Changes of the Node for a CSI driver. Pure.
/// Threads: values.
/// Errors:  INVALID_ARGUMENT with a kubelet's text: the driver or the Node makes the change
///          impossible, and the Node stays as it is.
/// Source:  docs/behaviour/csi-node.md; kubelet nodeinfomanager InstallCSIDriver.

#include <string>

#include "libs/base/status.h"
#include "libs/csi/node_info.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// The driver's account of this node, checked.
StatusOr<csi::NodeInfo> CheckedInfo(const v1::CsiDriver& driver);

/// The Node with the driver in its annotation and the labels of its topology.
StatusOr<kube::Node> NodeWithDriver(const kube::Node& node, const std::string& driver,
                                    const csi::NodeInfo& info);
/// The Node without the driver in its annotation; labels stay. An annotation that cannot be read
/// stays: it names no driver.
kube::Node NodeWithoutDriver(const kube::Node& node, const std::string& driver);

}  // namespace splitlet::status
