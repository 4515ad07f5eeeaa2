#pragma once

/// The answer to a refused caller, as bytes of HTTP/2: each of its calls ends with one status. gRPC
/// never gets such a connection, so no decoder sees bytes of an unknown caller: only the heads of
/// its frames are read, and kMaxRefusedBytes at most.
/// Threads: one.
/// Errors: none; a caller that does not speak HTTP/2 is disconnected.
/// Source: RFC 9113; RFC 7541; docs/safety.md, rule 31.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::rpc {

/// A request that fits the first window of HTTP/2 (64 KiB), and the headers of its call.
constexpr size_t kMaxRefusedBytes = 128 << 10;
constexpr int kMaxRefusedCalls = 32;

class RefusedCalls {
 public:
  explicit RefusedCalls(const Status& why);
  /// Send this before reading: a client starts its calls once it has the settings.
  static std::string Greeting();
  /// Takes the caller's bytes and returns the bytes to send.
  std::string Take(std::string_view bytes);
  /// The caller has its answers, or does not speak HTTP/2: close the connection.
  bool over() const { return over_; }

 private:
  std::string AnswerHead();

  std::string trailers_;  // content of the frame that ends a call
  size_t preface_ = 0;    // received bytes of the client's preface
  std::string head_;      // of the current frame
  size_t skip_ = 0;       // bytes of the frame's content that are still to come
  size_t taken_ = 0;
  int calls_ = 0;
  bool over_ = false;
};

}  // namespace splitlet::rpc
