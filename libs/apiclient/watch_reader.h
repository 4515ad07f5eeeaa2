#pragma once

/// The events of a watch, out of the pieces in which its bytes come: JSON, a line for each, or
/// frames of protobuf with a length of four bytes before them. The first byte tells which.
/// Threads: one at a time; for strands.
/// Errors:  DATA_LOSS for what cannot be read; nothing can be read after it.
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
  std::shared_ptr<const google::protobuf::Message> object;  // not of a bookmark, nor of an error
  std::string resource_version;                             // not of an error
  Status error;                                             // what the server says it is
};

class WatchReader {
 public:
  explicit WatchReader(const google::protobuf::Message& prototype) : prototype_(prototype) {}
  void Feed(std::string_view piece);
  /// None: the rest of the next one has not come.
  StatusOr<std::optional<WatchItem>> Next();

 private:
  /// The bytes of the next event.
  StatusOr<std::optional<std::string_view>> NextFrame();
  StatusOr<WatchItem> Read(std::string_view frame) const;

  const google::protobuf::Message& prototype_;
  std::string buffer_;
  size_t at_ = 0;  // what is before it has been read
};

}  // namespace splitlet::apiclient
