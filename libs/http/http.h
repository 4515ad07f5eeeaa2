#pragma once

/// HTTP and HTTPS calls by libcurl, with the system's TLS roots and one kept connection. The first
/// call loads libcurl (30 libraries, 0.7 MB).
/// Threads: one call of a client at a time; it blocks until the answer or the deadline.
/// Errors: UNAVAILABLE and DEADLINE_EXCEEDED from the transport; CANCELLED by the token;
/// RESOURCE_EXHAUSTED: the answer is too long; FAILED_PRECONDITION: no libcurl; UNIMPLEMENTED: the
/// server does not speak TLS. Any HTTP status is an answer and no error.

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
  /// Sends this body by POST. Without a body: GET, with up to 10 redirects, never from https to
  /// http. Another scheme, host or port gets no headers, because headers may hold a secret.
  std::optional<std::string_view> body;
  uint64_t max_bytes = 0;  // limit of the answer's body; reaching the limit is an error
};

struct Answer {
  int code = 0;
  std::string status;  // "404 Not Found"
  std::string body;
};

/// "https://host:443", in lower case, with the scheme's port; empty for a malformed URL.
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
