#include "libs/rpc/refused_calls.h"

#include <fmt/format.h>

#include <algorithm>

namespace splitlet::rpc {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kHeadBytes = 9;
constexpr uint8_t kHeaders = 1, kSettings = 4;
constexpr uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;
constexpr size_t kMaxText = 1024;  // of the status; a frame may have 16 KiB

uint8_t ByteAt(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

void AppendBigEndian(std::string& out, uint32_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>((number >> shift) & 0xFF);
}

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view content) {
  std::string frame;
  AppendBigEndian(frame, static_cast<uint32_t>(content.size()), 3);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  AppendBigEndian(frame, stream, 4);
  return frame.append(content);
}

/// A string of HPACK as it is: its length in 7 bits, and on in groups of 7.
std::string Text(std::string_view text) {
  std::string out;
  size_t length = text.size();
  if (length < 127) return out.append(1, static_cast<char>(length)).append(text);
  out += static_cast<char>(127);
  for (length -= 127; length >= 128; length >>= 7) out += static_cast<char>((length & 127) | 128);
  return out.append(1, static_cast<char>(length)).append(text);
}

/// A field that is kept in no table.
std::string Field(std::string_view name, std::string_view value) {
  return std::string(1, '\0') + Text(name) + Text(value);
}

/// grpc-message: percent-encoded.
std::string Encoded(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxText)) {
    if (c >= ' ' && c <= '~' && c != '%')
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
  }
  return out;
}

/// The frame of an answer with trailers alone.
std::string TrailersOf(const Status& why) {
  constexpr const char* kStatus200 = "\x88";  // of the static table
  return kStatus200 + Field("content-type", "application/grpc") +
         Field("grpc-status", fmt::format("{}", static_cast<int>(why.code()))) +
         Field("grpc-message", Encoded(Message(why)));
}

}  // namespace

RefusedCalls::RefusedCalls(const Status& why) : trailers_(TrailersOf(why)) {}

std::string RefusedCalls::Greeting() { return Frame(kSettings, 0, 0, ""); }

std::string RefusedCalls::Take(std::string_view bytes) {
  std::string out;
  taken_ += bytes.size();
  if (taken_ > kMaxRefusedBytes) over_ = true;
  while (!over_ && !bytes.empty()) {
    if (preface_ < kPreface.size()) {
      over_ = bytes.front() != kPreface[preface_++];
      bytes.remove_prefix(1);
      continue;
    }
    const size_t skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    bytes.remove_prefix(skipped);
    const size_t missing = std::min(kHeadBytes - head_.size(), bytes.size());
    head_.append(bytes.substr(0, missing));
    bytes.remove_prefix(missing);
    if (head_.size() == kHeadBytes) out += AnswerHead();
  }
  return out;
}

std::string RefusedCalls::AnswerHead() {
  skip_ = size_t{ByteAt(head_, 0)} << 16 | size_t{ByteAt(head_, 1)} << 8 | ByteAt(head_, 2);
  const uint8_t type = ByteAt(head_, 3), flags = ByteAt(head_, 4);
  uint32_t stream = 0;
  for (size_t i = 5; i < kHeadBytes; ++i) stream = stream << 8 | ByteAt(head_, i);
  stream &= 0x7FFFFFFF;
  head_.clear();
  if (type == kSettings && (flags & kAck) == 0) return Frame(kSettings, kAck, 0, "");
  if (type != kHeaders || stream % 2 == 0) return "";
  over_ = ++calls_ > kMaxRefusedCalls;
  return over_ ? "" : Frame(kHeaders, kEndHeaders | kEndStream, stream, trailers_);
}

}  // namespace splitlet::rpc
