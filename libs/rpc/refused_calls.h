#pragma once

/// The answer to a caller that is not served, as bytes of HTTP/2: each of its calls ends with one
/// status. gRPC never gets such a connection, so no decoder sees bytes of a caller that is not
/// known: of what it sends only the heads of frames are looked at, and kMaxRefusedBytes at most.
/// Threads: one.
/// Errors: none; what is not HTTP/2 is over at once.
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
  /// To be sent before anything is read: a client begins its calls once it has the settings.
  static std::string Greeting();
  /// Takes what the caller has sent; returns what to send to it.
  std::string Take(std::string_view bytes);
  /// It has had its answers, or does not speak HTTP/2: to be closed.
  bool over() const { return over_; }

 private:
  std::string AnswerHead();

  std::string trailers_;  // content of the frame that ends a call
  size_t preface_ = 0;    // bytes of the client's preface that have come
  std::string head_;      // of the frame that is coming
  size_t skip_ = 0;       // bytes of the frame's content that are still to come
  size_t taken_ = 0;
  int calls_ = 0;
  bool over_ = false;
};

}  // namespace splitlet::rpc
