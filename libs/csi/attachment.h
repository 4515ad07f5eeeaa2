#pragma once

/// The VolumeAttachment of a volume: whether the volume is attached to this node, and what its
/// driver needs to know of the attachment. A controller attaches; an agent only reads.
/// Threads: pure functions, any.
/// Errors: texts are the kubelet's, to the letter.
/// Source: kubelet csi_attacher waitForVolumeAttachment and verifyAttachmentStatus.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/csi/driver_object.h"
#include "libs/csi/string_map.h"

namespace k8s::io::api::storage::v1 {
class VolumeAttachment;
}

namespace splitlet::csi {

using AttachmentObject = k8s::io::api::storage::v1::VolumeAttachment;

enum class AttachmentState {
  kReady,
  kWaiting,  // a later read may find it attached
  kFailed,   // the controller has to act first: an error, or the object is being deleted
};

struct Attachment {
  AttachmentState state = AttachmentState::kWaiting;
  std::string text;            // why it is not ready
  StringMap publish_context;   // when ready
  bool limit_reached = false;  // the controller found no place for another volume on this node
};

/// `name` of the object and the volume's handle appear in texts. `read`: the error of the read;
/// `object` is null when there is none.
struct AttachmentRead {
  std::string name, handle;
  Status read;
  const AttachmentObject* object = nullptr;
};
Attachment ReadAttachment(const AttachmentRead& input);

/// A pod whose mount has waited in vain is rejected, rather than tried again.
bool RejectsPod(const Attachment& attachment, const DriverObject* driver);
inline constexpr std::string_view kLimitReason = "VolumeAttachmentLimitExceeded";
/// The message of the rejected pod. `error` is that of the wait: "unmounted volumes=[..], ...".
std::string LimitMessage(std::string_view error);

/// Whether the Node's status says that the volume of this unique name is attached.
bool IsAttached(const std::vector<std::string>& volumes_attached, std::string_view unique_name);

}  // namespace splitlet::csi
