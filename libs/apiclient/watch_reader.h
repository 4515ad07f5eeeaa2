#pragma once

/// Decodes the events of a watch from pieces of its bytes: JSON, a line for each, or protobuf
/// frames with a length of four bytes. The first byte decides which.
/// Threads: one at a time; for strands.
/// Errors:  DATA_LOSS: unreadable; no later event can be read.
/// Source:  Kubernetes API, efficient detection of changes.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

struct WatchItem {
  enum class Kind { kAdded, kModified, kDeleted, kBookmark, kError };
  Kind kind = Kind::kBookmark;
  std::shared_ptr<const google::protobuf::Message> object;  // null for a bookmark or an error
  std::string resource_version;                             // empty for an error
  Status error;                                             // the error that the server sent
};

class WatchReader {
 public:
  explicit WatchReader(const google::protobuf::Message& prototype) : prototype_(prototype) {}
  void Feed(std::string_view piece);
  /// nullopt: the next event has not arrived completely.
  StatusOr<std::optional<WatchItem>> Next();

 private:
  /// The bytes of the next event.
  StatusOr<std::optional<std::string_view>> NextFrame();
  StatusOr<WatchItem> Read(std::string_view frame) const;

  const google::protobuf::Message& prototype_;
  std::string buffer_;
  size_t at_ = 0;  // all bytes before it have been read
};

}  // namespace splitlet::apiclient
