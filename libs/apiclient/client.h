#pragma once

/// Objects of an API server: read, made, replaced, patched, deleted. Blocking, for strands.
/// A 429 or 5xx with Retry-After is tried again up to ten times within the deadline, as client-go
/// does; a GET, PUT or DELETE whose connection breaks before the answer once, at once. All else is
/// the caller's to try again.
/// Threads: any; one call at a time of a thread.
/// Errors:  the server's answer as a code: NOT_FOUND 404, ALREADY_EXISTS and ABORTED 409 by reason
///          (AlreadyExists, else a conflict), OUT_OF_RANGE 410, INVALID_ARGUMENT 400 and 422,
///          UNAUTHENTICATED 401, PERMISSION_DENIED 403, RESOURCE_EXHAUSTED 429 and 413, UNAVAILABLE
///          5xx; its message is the Status object's. Without such an object it is not the API's
///          word, and only 401, 413 and 429 mean that; all else is UNAVAILABLE. Those of Transport;
///          DATA_LOSS for a success that cannot be read, or is of another kind.
/// Source:  docs/behaviour/api-client.md, "One call"; client-go rest.Request.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libs/apiclient/rate_limiter.h"
#include "libs/apiclient/transport.h"
#include "libs/apiclient/waiting.h"
#include "libs/apiclient/wire.h"

namespace splitlet::apiclient {

class ClientMetrics;  // client_metrics.h

/// No answer of the server came, one that says that it cannot work, or one of something in front of
/// it.
inline bool IsOutOfReach(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDataLoss ||
         status.code() == StatusCode::kDeadlineExceeded;
}

enum class PatchType { kMerge, kStrategicMerge, kJsonPatch };

class Client {
 public:
  struct Options {
    ContentType content = ContentType::kProtobuf;
    std::shared_ptr<RateLimiter> limiter;    // null: none
    std::shared_ptr<ClientMetrics> metrics;  // null: none
    /// How an answer and a Retry-After are waited for; not set: on the real clock, whatever `clock`
    /// says.
    WaitUntil wait = nullptr;
  };
  using Message = google::protobuf::Message;

  Client(const Clock& clock, Transport& transport, Options options);

  /// `path`: of the object, such as "/api/v1/nodes/n1", or of a collection with a query. `into` may
  /// be null, here and below.
  Status Get(const std::string& path, Message* into, const Deadline& deadline);

  /// `path`: of the collection.
  Status Create(const std::string& path, const Content& content, Message* into,
                const Deadline& deadline);
  Status Update(const std::string& path, const Content& content, Message* into,
                const Deadline& deadline);

  struct PatchBody {
    PatchType type;
    std::string json;
  };
  Status Patch(const std::string& path, PatchBody patch, Message* into, const Deadline& deadline);

  struct Preconditions {
    std::string uid;                    // empty: whichever it is
    int64_t grace_period_seconds = -1;  // below 0: as the object says
  };
  Status Delete(const std::string& path, const Preconditions& preconditions,
                const Deadline& deadline);

 private:
  /// Sends it as often as it takes, and reads the answer.
  Status Exchange(Request request, Message* into, const Deadline& deadline);
  StatusOr<Response> Call(const Request& request, const Deadline& deadline);
  StatusOr<Response> Ask(const Request& request, const Deadline& deadline);

  const Clock& clock_;
  Transport& transport_;
  const Options options_;
};

/// A part of a path or a value of a query, escaped.
std::string Escaped(std::string_view text);

}  // namespace splitlet::apiclient
