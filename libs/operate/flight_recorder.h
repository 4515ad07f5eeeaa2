#pragma once

/// The flight recorder's files: messages of the bus with their time, in segments of one folder. The
/// oldest segment is removed before the folder exceeds its size. An entry cut by a full disk or a
/// kill ends its segment for readers; the next start overwrites it.
/// Threads: one.
/// Errors: the file system's; unwritten entries are dropped and counted; the recorder never waits.
/// Source: docs/decisions/flight-recorder-in-files.md.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/operate/bus_text.h"

namespace splitlet::operate {

/// Returns false to stop.
using OnMessage = std::function<bool(const BusMessage&)>;

struct RecorderLimits {
  size_t segment_bytes = 2 << 20;
  size_t segments = 8;
};

class RecorderFiles {
 public:
  /// Continues after the last entry of the newest segment.
  explicit RecorderFiles(std::string folder, RecorderLimits limits = {});
  ~RecorderFiles();
  RecorderFiles(const RecorderFiles&) = delete;
  RecorderFiles& operator=(const RecorderFiles&) = delete;

  /// Keeps the entry in memory until Flush; writes immediately if more than 1 MiB waits.
  void Add(const BusMessage& message);
  Status Flush();
  /// Number of messages that could not be written.
  uint64_t dropped() const { return dropped_; }

 private:
  Status Write();
  Status OpenSegment();
  Status NextSegment();
  void Close();

  const std::string folder_;
  const RecorderLimits limits_;
  std::string waiting_;
  uint64_t waiting_messages_ = 0, dropped_ = 0;
  uint64_t number_ = 0;  // number of the segment
  int fd_ = -1;
  size_t size_ = 0;  // length of the complete entries in the segment
  Status last_;      // result of the last write
};

/// Reads all entries since then, in order. NOT_FOUND: there is no recorder.
Status ReadRecorderFiles(const std::string& folder, WallTime since, const OnMessage& message);

}  // namespace splitlet::operate
