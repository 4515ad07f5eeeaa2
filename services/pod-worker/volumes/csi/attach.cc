#include "services/pod-worker/volumes/csi/attach.h"

#include <algorithm>

#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"

namespace splitlet::pod_worker {

namespace {

Outcome NotAttachedYet(Status why) {
  return {.status = std::move(why),
          .error_class = csi::ErrorClass::kTransient,
          .step = VolumeStep::kWaitForAttach,
          .silent = true};
}

bool ShowsAttached(const NodeObject& node, const std::string& name) {
  const auto& all = node.status().volumes_attached();
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name() == name; });
}

}  // namespace

csi::Attachment AttachmentOf(const csi::Volume& volume, const std::string& name,
                             const StatusOr<ObjectPtr<VolumeAttachment>>& read) {
  return csi::ReadAttachment({.name = name,
                              .handle = volume.handle,
                              .read = read.status(),
                              .object = read.ok() ? read->get() : nullptr});
}

std::optional<Outcome> AttachCheck::Advance() {
  if (!Ask(node_, [this](auto answer) { deps_.objects.ReadNode(answer); })) return std::nullopt;
  const auto& node = *node_.answer;
  if (!node.ok())
    return NotAttachedYet(Annotate(
        node.status(), "VerifyControllerAttachedVolume failed fetching node from API server"));
  if (!ShowsAttached(**node, csi::UniqueName(volume_.driver, volume_.handle)))
    return NotAttachedYet(Unavailable("Volume not attached according to node status"));
  const std::string name = csi::AttachmentName(volume_.handle, volume_.driver, deps_.node_name);
  if (!Ask(attachment_, [&](auto answer) { deps_.objects.ReadAttachment(name, answer); }))
    return std::nullopt;
  csi::Attachment found = AttachmentOf(volume_, name, *attachment_.answer);
  if (found.state != csi::AttachmentState::kReady)
    return Failed(csi::ErrorClass::kTransient, VolumeStep::kWaitForAttach,
                  FailedPrecondition("{}", found.text));
  publish_context_ = std::move(found.publish_context);
  return Outcome{};
}

}  // namespace splitlet::pod_worker
