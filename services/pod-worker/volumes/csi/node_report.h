#pragma once

/// CSI volumes in the records of the node: the names for status, and its answer.
/// Threads: pure functions, any; nothing fails.
/// Source:  proto/splitlet/v1/records.proto.

#include "services/pod-worker/volumes/csi/node_volumes.h"

namespace splitlet::v1 {
class NodeRecord;
class WorkerNode;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// Replaces the volumes in pod-worker's record of the node.
void FillNode(const VolumesInUse& volumes, v1::WorkerNode& node);

/// From status's record of the node.
NodeAttachments AttachmentsIn(const v1::NodeRecord& record);

}  // namespace splitlet::pod_worker
