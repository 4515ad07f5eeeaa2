#pragma once

/// HTTP and HTTPS calls by libcurl, which the first call loads (30 libraries, 0.7 MB); the system's
/// TLS roots, one connection that is kept.
/// Threads: one call at a time of a client; it blocks until the answer or the deadline.
/// Errors: UNAVAILABLE, DEADLINE_EXCEEDED from the transport, CANCELLED by the token,
/// RESOURCE_EXHAUSTED for too long an answer, FAILED_PRECONDITION without libcurl, UNIMPLEMENTED
/// when a server that was to speak TLS speaks something else; any HTTP status is an answer, no
/// error.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::http {

struct Request {
  std::string url;
  std::vector<std::string> headers;  // "Name: value", or "Name;" for an empty value
  /// Posted; without: GET, and up to 10 redirects are followed: never from https to http, and
  /// without the headers to another scheme, host or port, since they may hold a secret.
  std::optional<std::string_view> body;
  uint64_t max_bytes = 0;  // of the answer's body; reaching it is an error
};

struct Answer {
  int code = 0;
  std::string status;  // "404 Not Found"
  std::string body;
};

/// "https://host:443", in lower case, with the scheme's port; empty for what is no such URL.
std::string PlaceOf(std::string_view url);

class Client {
 public:
  explicit Client(const Clock& clock);
  ~Client();
  StatusOr<Answer> Call(const Request& request, const Deadline& deadline);

 private:
  struct Connection;
  StatusOr<Answer> CallOnce(const Request& request, const Deadline& deadline);
  const Clock& clock_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace splitlet::http
