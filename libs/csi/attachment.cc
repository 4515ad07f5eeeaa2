#include "libs/csi/attachment.h"

#include <algorithm>

#include "k8s.io/api/storage/v1/storage.pb.h"

namespace splitlet::csi {
namespace {

constexpr int kResourceExhausted = 8;  // gRPC's number, as the API has it

Attachment Unready(AttachmentState state, std::string text) {
  return {.state = state, .text = std::move(text)};
}

}  // namespace

Attachment ReadAttachment(const AttachmentRead& input) {
  if (!input.read.ok())
    return Unready(AttachmentState::kWaiting,
                   fmt::format("volume {} has GET error for volume attachment {}: {}", input.handle,
                               input.name, Message(input.read)));
  if (input.object == nullptr)
    return Unready(AttachmentState::kFailed, "volume attachment has been deleted");
  if (input.object->metadata().has_deletion_timestamp())
    return Unready(AttachmentState::kFailed, "volume attachment is being deleted");
  const auto& status = input.object->status();
  if (status.attached()) {
    Attachment ready{.state = AttachmentState::kReady};
    ready.publish_context.insert(status.attachment_metadata().begin(),
                                 status.attachment_metadata().end());
    return ready;
  }
  if (status.has_attach_error()) {
    Attachment failed = Unready(AttachmentState::kFailed, status.attach_error().message());
    failed.limit_reached = status.attach_error().error_code() == kResourceExhausted;
    return failed;
  }
  return Unready(
      AttachmentState::kWaiting,
      fmt::format("volume {} is not attached for volume attachment {}", input.handle, input.name));
}

bool RejectsPod(const Attachment& attachment, const DriverObject* driver) {
  return attachment.limit_reached && AllocatablePeriod(driver).has_value();
}

std::string LimitMessage(std::string_view error) {
  return fmt::format("Node has reached its volume attachment limit, rejecting pod. {}", error);
}

bool IsAttached(const std::vector<std::string>& volumes_attached, std::string_view unique_name) {
  return std::find(volumes_attached.begin(), volumes_attached.end(), unique_name) !=
         volumes_attached.end();
}

}  // namespace splitlet::csi
