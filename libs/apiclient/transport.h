#pragma once

/// Requests to an API server: over HTTPS (https_transport.h), or to a fake server in memory
/// (libs/fake_api).
/// Threads: Begin from any. Callbacks come on a thread of the transport, one at a time for a
///          request, also before Begin returns; they must not block.
/// Errors:  only those of the connection: UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED by the
///          deadline's token, RESOURCE_EXHAUSTED: the answer is too long, UNAUTHENTICATED: no
///          credentials. Any HTTP status is an answer and no error.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::apiclient {

struct Request {
  std::string method = "GET";
  std::string path;  // path with its query, escaped: "/api/v1/pods?limit=500"
  std::string accept, content_type;
  std::string body;
};

struct Response {
  int code = 0;
  std::string content_type;
  std::string body;
  std::optional<Duration> retry_after;
};

class Transport {
 public:
  using Done = std::function<void(StatusOr<Response>)>;
  using OnData = std::function<void(std::string_view)>;
  virtual ~Transport() = default;
  /// Calls `done` once, with the whole answer.
  virtual void Begin(Request request, Deadline deadline, Done done) = 0;
  /// The body of a 2xx answer goes to `on_data` in pieces as they come, and `done` gets an empty
  /// body; any other answer is whole in `done`. The first piece is empty: it reports the head of a
  /// 2xx answer.
  virtual void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) = 0;
  /// Host and port of the server, for metrics; empty while unknown.
  virtual std::string host() const { return {}; }
};

}  // namespace splitlet::apiclient
