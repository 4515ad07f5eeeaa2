#include "libs/apiclient/watch_reader.h"

#include <google/protobuf/message.h>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/status.pb.h"
#include "libs/apiclient/object_meta.h"
#include "libs/apiclient/wire.h"
#include "libs/kube/codec.h"

namespace splitlet::apiclient {
namespace {

using google::protobuf::Message;
using Event = k8s::io::apimachinery::pkg::apis::meta::v1::WatchEvent;

/// A stored object has at most 3 MB.
constexpr size_t kMaxFrame = 16u << 20;
constexpr size_t kLengthBytes = 4;

std::optional<WatchItem::Kind> KindOf(const std::string& type) {
  using enum WatchItem::Kind;
  if (type == "ADDED") return kAdded;
  if (type == "MODIFIED") return kModified;
  if (type == "DELETED") return kDeleted;
  if (type == "BOOKMARK") return kBookmark;
  if (type == "ERROR") return kError;
  return std::nullopt;
}

}  // namespace

void WatchReader::Feed(std::string_view piece) {
  if (at_ > 0) buffer_.erase(0, std::exchange(at_, 0));
  buffer_ += piece;
}

StatusOr<std::optional<WatchItem>> WatchReader::Next() {
  auto frame = NextFrame();
  if (!frame.ok()) return frame.status();
  if (!*frame) return std::optional<WatchItem>();
  auto item = Read(**frame);
  if (!item.ok()) return item.status();
  return std::optional<WatchItem>(std::move(*item));
}

StatusOr<std::optional<std::string_view>> WatchReader::NextFrame() {
  const std::optional<std::string_view> none;
  while (at_ < buffer_.size() && buffer_[at_] == '\n') ++at_;
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  if (rest.empty()) return none;
  size_t begin = 0, length = 0;
  if (rest.front() == '{') {
    const size_t end = rest.find('\n');
    length = end == std::string_view::npos ? rest.size() : end;
    if (length > kMaxFrame) return DataLoss("an event above {} bytes", kMaxFrame);
    if (end == std::string_view::npos) return none;
  } else {
    if (rest.size() < kLengthBytes) return none;
    for (begin = 0; begin < kLengthBytes; ++begin)
      length = length << 8 | static_cast<unsigned char>(rest[begin]);
    if (length > kMaxFrame) return DataLoss("an event above {} bytes, or no event", kMaxFrame);
    if (rest.size() < kLengthBytes + length) return none;
  }
  at_ += begin + length;
  return rest.substr(begin, length);
}

StatusOr<WatchItem> WatchReader::Read(std::string_view frame) const {
  Event event;
  const bool is_json = frame.starts_with('{');
  const bool readable = is_json
                            ? kube::DecodeInto(frame, "", kube::Strictness::kLenient, event).ok()
                            : event.ParseFromArray(frame.data(), static_cast<int>(frame.size()));
  if (!readable) return DataLoss("an unreadable event");
  const auto kind = KindOf(event.type());
  if (!kind) return DataLoss("an event of an unknown type");
  WatchItem item{.kind = *kind};
  if (item.kind == WatchItem::Kind::kError) {
    item.error = StatusOfObject(event.object().raw());
    return item;
  }
  std::shared_ptr<Message> object(prototype_.New());
  RETURN_IF_ERROR(DecodeObject(event.object().raw(), *object).status(), "event {}", event.type());
  item.resource_version = ResourceVersionOf(*object);
  if (item.resource_version.empty()) return DataLoss("an event without a resource version");
  if (item.kind != WatchItem::Kind::kBookmark) item.object = std::move(object);
  return item;
}

}  // namespace splitlet::apiclient
