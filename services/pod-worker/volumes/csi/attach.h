#pragma once

/// Whether a volume is attached to this node, after the Node's status has said so: the Node as the
/// API server has it now, then the VolumeAttachment. A controller attaches; pod-worker only reads.
/// In:      the volume; answers of the API server.
/// Out:     a GET of the Node, then of the VolumeAttachment.
/// Errors:  kWaitForAttach with the kubelet's texts. Silent: the Node does not show the volume.
/// Threads: the loop's.
/// Source:  kubelet GenerateVerifyControllerAttachedVolumeFunc, csi_attacher WaitForAttach.

#include <optional>
#include <utility>

#include "libs/csi/attachment.h"
#include "libs/csi/volume.h"
#include "services/pod-worker/volumes/csi/csi_deps.h"
#include "services/pod-worker/volumes/csi/operation.h"

namespace splitlet::pod_worker {

/// The publish context of an attached volume, or the reason why there is none.
csi::Attachment AttachmentOf(const csi::Volume& volume, const std::string& name,
                             const StatusOr<ObjectPtr<VolumeAttachment>>& read);

class AttachCheck final : public Operation {
 public:
  AttachCheck(const CsiDeps& deps, csi::Volume volume, Host host)
      : Operation(std::move(host)), deps_(deps), volume_(std::move(volume)) {}
  std::optional<Outcome> Advance() override;
  /// After success.
  const csi::StringMap& publish_context() const { return publish_context_; }

 private:
  const CsiDeps& deps_;
  const csi::Volume volume_;
  Question<StatusOr<ObjectPtr<NodeObject>>> node_;
  Question<StatusOr<ObjectPtr<VolumeAttachment>>> attachment_;
  csi::StringMap publish_context_;
};

}  // namespace splitlet::pod_worker
