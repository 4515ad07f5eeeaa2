#include "services/pod-worker/volumes/csi/node_report.h"

#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

void FillNode(const VolumesInUse& volumes, v1::WorkerNode& node) {
  node.mutable_volumes_in_use()->Assign(volumes.names.begin(), volumes.names.end());
  node.set_volumes_known(volumes.known);
}

NodeAttachments AttachmentsIn(const v1::NodeRecord& record) {
  NodeAttachments node;
  node.in_use.insert(record.volumes_in_use().begin(), record.volumes_in_use().end());
  for (const auto& volume : record.volumes_attached()) node.attached.insert(volume.name());
  return node;
}

}  // namespace splitlet::pod_worker
