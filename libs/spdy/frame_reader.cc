#include "libs/spdy/frame_reader.h"

#include <utility>

namespace splitlet::spdy {
namespace {

/// Whether the protocol defines this type of control frame; other types are skipped.
bool IsKnown(uint16_t type) {
  return type >= static_cast<uint16_t>(FrameType::kSynStream) &&
         type <= static_cast<uint16_t>(FrameType::kWindowUpdate) && type != 5;
}

}  // namespace

Status FrameReader::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t wanted = inside_ ? left_ : kFrameHeaderBytes - head_.size();
    const std::string_view part = bytes.substr(0, wanted);
    bytes.remove_prefix(part.size());
    if (inside_) {
      RETURN_IF_ERROR(TakePayload(part), "frame");
      continue;
    }
    head_.append(part);
    if (head_.size() == kFrameHeaderBytes) RETURN_IF_ERROR(Begin(), "frame");
  }
  return OkStatus();
}

Status FrameReader::Begin() {
  header_ = ParseFrameHeader(head_);
  head_.clear();
  left_ = header_.length;
  inside_ = true;
  if (header_.control && header_.version != kVersion)
    return InvalidArgument("version {} instead of {}", header_.version, kVersion);
  if (header_.control && IsKnown(header_.type) && left_ > max_control_bytes_)
    return ResourceExhausted("a control frame of {} bytes, at most {}", left_, max_control_bytes_);
  return left_ == 0 ? TakePayload({}) : OkStatus();
}

Status FrameReader::TakePayload(std::string_view bytes) {
  const bool first = left_ == header_.length;
  left_ -= bytes.size();
  if (!header_.control) {
    const Data data{.stream = header_.stream,
                    .bytes = bytes,
                    .first = first,
                    .fin = left_ == 0 && header_.fin()};
    if (left_ == 0) inside_ = false;
    return sink_.OnData(data);
  }
  if (!IsKnown(header_.type)) {
    if (left_ == 0) inside_ = false;
    return OkStatus();
  }
  payload_.append(bytes);
  return left_ == 0 ? End() : OkStatus();
}

Status FrameReader::End() {
  inside_ = false;
  const std::string payload = std::exchange(payload_, {});
  return sink_.OnControl(header_, payload);
}

}  // namespace splitlet::spdy
