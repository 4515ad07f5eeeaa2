#pragma once

/// Headers of streams in a SPDY session: one zlib stream for each direction, flushed after each
/// block, with a dictionary that both sides know.
/// Threads: one for each object.
/// Errors:  INVALID_ARGUMENT: malformed block; RESOURCE_EXHAUSTED: too long when decompressed.
///          Later blocks are unreadable after an error.
/// Source:  SPDY/3.1, "Name/Value Header Block"; RFC 1950.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/status.h"

struct z_stream_s;

namespace splitlet::spdy {

/// Names are lower case. Values of one name are separated by a NUL.
using Headers = std::vector<std::pair<std::string, std::string>>;

inline constexpr size_t kMaxHeaderBytes = 64 << 10;

class HeaderWriter {
 public:
  HeaderWriter();
  ~HeaderWriter();
  HeaderWriter(const HeaderWriter&) = delete;
  HeaderWriter& operator=(const HeaderWriter&) = delete;
  std::string Write(const Headers& headers);

 private:
  const std::unique_ptr<z_stream_s> zlib_;
};

class HeaderReader {
 public:
  HeaderReader();
  ~HeaderReader();
  HeaderReader(const HeaderReader&) = delete;
  HeaderReader& operator=(const HeaderReader&) = delete;
  StatusOr<Headers> Read(std::string_view block);

 private:
  StatusOr<std::string> Unpack(std::string_view block);
  const std::unique_ptr<z_stream_s> zlib_;
};

}  // namespace splitlet::spdy
