#pragma once

/// Frames of SPDY/3.1 as bytes: writes a client's frames, and parses a control frame's payload.
/// Threads: any.
/// Errors:  INVALID_ARGUMENT: the payload does not fit its type.
/// Units:   lengths and windows in bytes.
/// Source:  SPDY/3.1, "Framing Layer".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::spdy {

using StreamId = uint32_t;

inline constexpr uint16_t kVersion = 3;  // 3.1 writes 3, too
inline constexpr size_t kFrameHeaderBytes = 8;
inline constexpr uint32_t kMaxFrameBytes = (1u << 24) - 1;
inline constexpr uint32_t kMaxWindow = 0x7fffffff;
inline constexpr uint8_t kFlagFin = 1;  // the last frame of its sender in this stream

enum class FrameType : uint16_t {
  kSynStream = 1,
  kSynReply = 2,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kHeaders = 8,
  kWindowUpdate = 9,
};

/// Reason of a reset. A peer may send other numbers.
enum class ResetReason : uint32_t {
  kProtocolError = 1,
  kInvalidStream = 2,
  kRefusedStream = 3,
  kCancel = 5,
  kFlowControlError = 7,
};
/// "CANCEL"; a number if the protocol has no name for it.
std::string ResetReasonName(uint32_t reason);

/// Reason of a session's end.
enum class GoAwayReason : uint32_t { kOk = 0, kProtocolError = 1 };

enum class SettingId : uint32_t { kMaxConcurrentStreams = 4, kInitialWindowSize = 7 };

/// The eight bytes at the start of each frame.
struct FrameHeader {
  bool control = false;
  uint16_t version = 0, type = 0;  // only for a control frame
  StreamId stream = 0;             // only for a data frame
  uint8_t flags = 0;
  uint32_t length = 0;  // length of the payload
  bool fin() const { return (flags & kFlagFin) != 0; }
};
/// `bytes`: kFrameHeaderBytes of them.
FrameHeader ParseFrameHeader(std::string_view bytes);

// Payloads.

/// Payload of SYN_STREAM, SYN_REPLY and HEADERS; `block` is compressed and part of it.
struct StreamHeaders {
  StreamId stream = 0;
  std::string_view block;
};
StatusOr<StreamHeaders> ParseStreamHeaders(FrameType type, std::string_view payload);

/// Payload of RST_STREAM (reason), GOAWAY (last good stream, reason), WINDOW_UPDATE (bytes).
struct StreamNumber {
  StreamId stream = 0;
  uint32_t number = 0;
};
StatusOr<StreamNumber> ParseStreamNumber(std::string_view payload);

StatusOr<uint32_t> ParsePing(std::string_view payload);

struct Setting {
  uint32_t id = 0, value = 0;
};
StatusOr<std::vector<Setting>> ParseSettings(std::string_view payload);

// Whole frames.

std::string ControlFrame(FrameType type, uint8_t flags, std::string_view payload);
std::string SynStreamFrame(StreamId stream, std::string_view block);
std::string RstStreamFrame(StreamId stream, ResetReason reason);
std::string PingFrame(uint32_t id);
std::string GoAwayFrame(StreamId last_good, GoAwayReason reason);
std::string WindowUpdateFrame(StreamId stream, uint32_t bytes);
/// `bytes`: at most kMaxFrameBytes.
std::string DataFrame(StreamId stream, std::string_view bytes, bool fin);

/// Numbers are big-endian.
void AppendNumber(std::string& to, uint32_t number);
/// Number in the first four bytes.
uint32_t NumberAt(std::string_view bytes);

}  // namespace splitlet::spdy
