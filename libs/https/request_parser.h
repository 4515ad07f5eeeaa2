#pragma once

/// Reads one HTTP/1.1 request from the bytes of a connection. Its memory is bounded, even for
/// unfinished lines: it counts fields and refuses trailers.
/// Owns:    what has been read of the request.
/// Threads: one.
/// Errors:  refusal(), the code of the answer; do not call Take afterwards.
/// Source:  RFC 9112; docs/behaviour/node-api.md, "Listeners".

#include <boost/beast/http/basic_parser.hpp>
#include <string>
#include <string_view>

#include "libs/https/server.h"

namespace splitlet::https {

class RequestParser final : private boost::beast::http::basic_parser<true> {
 public:
  struct Bounds {
    size_t header_bytes = 64 << 10, body_bytes = 1 << 20;
  };
  /// A field takes far more memory than its bytes.
  static constexpr size_t kMaxFields = 256, kFieldOverhead = 64;
  /// Limit for lines before chunks: all extensions of a request, and an unfinished line.
  static constexpr size_t kMaxChunkLine = 16 << 10;

  explicit RequestParser(const Bounds& bounds);

  /// Consumes usable bytes from the front of `bytes`, which begin with the rest of the last call.
  /// Returns their number. Do not call it after the end or a refusal.
  size_t Take(std::string_view bytes);

  int refusal() const { return refusal_; }  // 0: none; else 400, 413 or 431
  const std::string& why() const { return why_; }
  bool done() const { return is_done(); }
  bool has_head() const { return is_header_done(); }
  bool asks_to_continue() const;
  bool keeps_alive() const { return keep_alive(); }
  bool is_http11() const { return version_ >= 11; }
  /// Approximate memory, in bytes.
  size_t held() const { return head_bytes_ + fields_ * kFieldOverhead + request_.body.size(); }
  /// Moves out method, target, headers and body; call once.
  Request Release() { return std::move(request_); }

 private:
  using error_code = boost::beast::error_code;
  using string_view = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb verb, string_view method, string_view target,
                       int version, error_code& error) override;
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(boost::beast::http::field field, string_view name, string_view value,
                     error_code& error) override;
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  size_t on_body_impl(string_view body, error_code& error) override;
  void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code& error) override;
  size_t on_chunk_body_impl(std::uint64_t remain, string_view body, error_code& error) override;
  void on_finish_impl(error_code&) override {}

  void Refuse(int code, std::string why);

  const Bounds bounds_;
  Request request_;
  int version_ = 0, refusal_ = 0;
  size_t fields_ = 0, head_bytes_ = 0, extension_bytes_ = 0;
  std::string why_;
};

}  // namespace splitlet::https
