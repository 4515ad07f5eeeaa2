#pragma once

/// How requests reach an API server: over HTTPS (https_transport.h), or a server in memory
/// (libs/fake_api).
/// Threads: Begin from any. Callbacks come on a thread of the transport, one at a time for a
///          request, also before Begin returns; they must not block.
/// Errors:  of the way there alone: UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED by the deadline's
///          token, RESOURCE_EXHAUSTED for an answer above the bound, UNAUTHENTICATED when the
///          credentials cannot be had. Any HTTP status is an answer, no error.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::apiclient {

struct Request {
  std::string method = "GET";
  std::string path;  // with its query, escaped: "/api/v1/pods?limit=500"
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
  /// `done` once, with the whole answer.
  virtual void Begin(Request request, Deadline deadline, Done done) = 0;
  /// What a 2xx answer holds goes to `on_data` in pieces as it comes, and `done`'s body is empty;
  /// any other answer is whole in `done`. The first piece is empty: the head has come, and the
  /// server answers with 2xx.
  virtual void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) = 0;
  /// Of the server, with its port, for metrics; empty while it is not known.
  virtual std::string host() const { return {}; }
};

}  // namespace splitlet::apiclient
