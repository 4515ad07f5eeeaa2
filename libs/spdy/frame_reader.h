#pragma once

/// Cuts the bytes of a connection into frames. It buffers a control frame, and passes data on as
/// they arrive.
/// Threads: one.
/// Errors:  INVALID_ARGUMENT: another version of SPDY; RESOURCE_EXHAUSTED: the control frame is too
///          long; the sink's. No frame can be read after an error.
/// Source:  SPDY/3.1, "Framing Layer".

#include <string>
#include <string_view>

#include "libs/spdy/frames.h"

namespace splitlet::spdy {

class FrameReader {
 public:
  /// A part of a data frame; a frame without data has one empty part.
  struct Data {
    StreamId stream = 0;
    std::string_view bytes;
    bool first = false;  // the first part of its frame
    bool fin = false;    // the last part of the stream's last frame
  };
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual Status OnControl(const FrameHeader& header, std::string_view payload) = 0;
    virtual Status OnData(const Data& data) = 0;
  };

  FrameReader(Sink& sink, size_t max_control_bytes)
      : sink_(sink), max_control_bytes_(max_control_bytes) {}

  Status Take(std::string_view bytes);
  /// Bytes of an unfinished frame.
  size_t held() const { return head_.size() + payload_.size(); }

 private:
  Status Begin();
  Status TakePayload(std::string_view bytes);
  Status End();

  Sink& sink_;
  const size_t max_control_bytes_;
  std::string head_;  // start of the next frame's header
  bool inside_ = false;
  FrameHeader header_;   // header of the current frame
  size_t left_ = 0;      // bytes of its payload still to come
  std::string payload_;  // payload of a control frame
};

}  // namespace splitlet::spdy
