#include "libs/spdy/frames.h"

#include <array>
#include <initializer_list>

namespace splitlet::spdy {
namespace {

constexpr uint32_t kControlBit = 0x80000000;
constexpr uint32_t kStreamMask = 0x7fffffff;
constexpr uint32_t kLengthMask = 0xffffff;
constexpr size_t kNumberBytes = 4;
constexpr size_t kSettingBytes = 8;

std::string Numbers(std::initializer_list<uint32_t> numbers) {
  std::string bytes;
  for (const uint32_t number : numbers) AppendNumber(bytes, number);
  return bytes;
}

}  // namespace

void AppendNumber(std::string& to, uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) to.push_back(static_cast<char>(number >> shift));
}

uint32_t NumberAt(std::string_view bytes) {
  CHECK(bytes.size() >= kNumberBytes);
  uint32_t number = 0;
  for (const char c : bytes.substr(0, kNumberBytes)) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

std::string ResetReasonName(uint32_t reason) {
  static constexpr std::array<const char*, 12> kNames = {
      "",       "PROTOCOL_ERROR", "INVALID_STREAM",     "REFUSED_STREAM", "UNSUPPORTED_VERSION",
      "CANCEL", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "STREAM_IN_USE",  "STREAM_ALREADY_CLOSED",
      "",       "FRAME_TOO_LARGE"};
  const bool named = reason < kNames.size() && *kNames[reason] != '\0';
  return named ? kNames[reason] : fmt::format("reason {}", reason);
}

FrameHeader ParseFrameHeader(std::string_view bytes) {
  const uint32_t first = NumberAt(bytes);
  const uint32_t second = NumberAt(bytes.substr(kNumberBytes));
  FrameHeader header{.flags = static_cast<uint8_t>(second >> 24), .length = second & kLengthMask};
  header.control = (first & kControlBit) != 0;
  if (header.control) {
    header.version = static_cast<uint16_t>((first & kStreamMask) >> 16);
    header.type = static_cast<uint16_t>(first & 0xffff);
  } else {
    header.stream = first;
  }
  return header;
}

StatusOr<StreamHeaders> ParseStreamHeaders(FrameType type, std::string_view payload) {
  // SYN_STREAM has the associated stream, a priority and a slot before the block.
  const size_t before = type == FrameType::kSynStream ? 10 : kNumberBytes;
  if (payload.size() < before) return InvalidArgument("a frame with headers is truncated");
  return StreamHeaders{.stream = NumberAt(payload) & kStreamMask, .block = payload.substr(before)};
}

StatusOr<StreamNumber> ParseStreamNumber(std::string_view payload) {
  if (payload.size() != 2 * kNumberBytes)
    return InvalidArgument("a frame of {} bytes instead of 8", payload.size());
  return StreamNumber{.stream = NumberAt(payload) & kStreamMask,
                      .number = NumberAt(payload.substr(kNumberBytes))};
}

StatusOr<uint32_t> ParsePing(std::string_view payload) {
  if (payload.size() != kNumberBytes)
    return InvalidArgument("a ping of {} bytes instead of 4", payload.size());
  return NumberAt(payload);
}

StatusOr<std::vector<Setting>> ParseSettings(std::string_view payload) {
  if (payload.size() < kNumberBytes) return InvalidArgument("settings are truncated");
  const uint64_t count = NumberAt(payload);
  payload.remove_prefix(kNumberBytes);
  if (payload.size() != count * kSettingBytes)
    return InvalidArgument("{} settings in {} bytes", count, payload.size());
  std::vector<Setting> settings;
  for (; !payload.empty(); payload.remove_prefix(kSettingBytes))
    settings.push_back({.id = NumberAt(payload) & kLengthMask,  // the first byte contains flags
                        .value = NumberAt(payload.substr(kNumberBytes))});
  return settings;
}

std::string ControlFrame(FrameType type, uint8_t flags, std::string_view payload) {
  CHECK(payload.size() <= kMaxFrameBytes);
  const auto length = static_cast<uint32_t>(payload.size());
  std::string frame = Numbers({kControlBit | uint32_t{kVersion} << 16 | static_cast<uint32_t>(type),
                               uint32_t{flags} << 24 | length});
  return frame.append(payload);
}

std::string SynStreamFrame(StreamId stream, std::string_view block) {
  // No associated stream, highest priority, no slot.
  std::string payload = Numbers({stream, 0}) + std::string(2, '\0');
  return ControlFrame(FrameType::kSynStream, 0, payload.append(block));
}

std::string RstStreamFrame(StreamId stream, ResetReason reason) {
  return ControlFrame(FrameType::kRstStream, 0, Numbers({stream, static_cast<uint32_t>(reason)}));
}

std::string PingFrame(uint32_t id) { return ControlFrame(FrameType::kPing, 0, Numbers({id})); }

std::string GoAwayFrame(StreamId last_good, GoAwayReason reason) {
  return ControlFrame(FrameType::kGoAway, 0, Numbers({last_good, static_cast<uint32_t>(reason)}));
}

std::string WindowUpdateFrame(StreamId stream, uint32_t bytes) {
  return ControlFrame(FrameType::kWindowUpdate, 0, Numbers({stream, bytes}));
}

std::string DataFrame(StreamId stream, std::string_view bytes, bool fin) {
  CHECK(bytes.size() <= kMaxFrameBytes);
  const auto length = static_cast<uint32_t>(bytes.size());
  std::string frame = Numbers({stream, uint32_t{fin ? kFlagFin : uint8_t{0}} << 24 | length});
  return frame.append(bytes);
}

}  // namespace splitlet::spdy
