#include "libs/https/request_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

namespace splitlet::https {
namespace {

namespace http = boost::beast::http;

int CodeFor(const boost::beast::error_code& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  return 400;
}

}  // namespace

RequestParser::RequestParser(const Bounds& bounds) : bounds_(bounds) {
  eager(true);
  header_limit(static_cast<uint32_t>(bounds_.header_bytes));
  body_limit(bounds_.body_bytes);
}

size_t RequestParser::Take(std::string_view bytes) {
  if (bytes.empty()) return 0;
  error_code error;
  const size_t used = put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (refusal_ != 0) return used;
  if (error && error != http::error::need_more) {
    Refuse(CodeFor(error), error.message());
  } else if (has_head() && !done() && bytes.size() - used > kMaxChunkLine) {
    // The parser consumes such a line, and all trailers, only as a whole.
    Refuse(400, "the line before a chunk is too long");
  }
  return used;
}

void RequestParser::Refuse(int code, std::string why) {
  refusal_ = code;
  why_ = std::move(why);
}

bool RequestParser::asks_to_continue() const { return request_.Header("Expect") == "100-continue"; }

void RequestParser::on_request_impl(http::verb /*verb*/, string_view method, string_view target,
                                    int version, error_code& /*error*/) {
  request_.method.assign(method.data(), method.size());
  request_.target.assign(target.data(), target.size());
  version_ = version;
  head_bytes_ += method.size() + target.size();
}

/// The parser's own limit covers only bytes that it has not consumed, and it consumes line by line.
void RequestParser::on_field_impl(http::field /*field*/, string_view name, string_view value,
                                  error_code& error) {
  const size_t bytes = name.size() + value.size();
  if (has_head()) {
    Refuse(400, "trailers are not supported");
    error = http::error::bad_field;
  } else if (++fields_ > kMaxFields || head_bytes_ + bytes > bounds_.header_bytes) {
    error = http::error::header_limit;
  } else {
    head_bytes_ += bytes;
    request_.headers.emplace_back(std::string(name.data(), name.size()),
                                  std::string(value.data(), value.size()));
  }
}

size_t RequestParser::on_body_impl(string_view body, error_code& /*error*/) {
  request_.body.append(body.data(), body.size());
  return body.size();
}

void RequestParser::on_chunk_header_impl(std::uint64_t /*size*/, string_view extensions,
                                         error_code& error) {
  extension_bytes_ += extensions.size();
  if (extension_bytes_ <= kMaxChunkLine) return;
  Refuse(400, "the extensions of chunks are too long");
  error = http::error::bad_chunk_extension;
}

size_t RequestParser::on_chunk_body_impl(std::uint64_t /*remain*/, string_view body,
                                         error_code& error) {
  return on_body_impl(body, error);
}

}  // namespace splitlet::https
