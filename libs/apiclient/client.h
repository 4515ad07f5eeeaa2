#pragma once

/// Reads, creates, replaces, patches and deletes objects of an API server. Blocking, for strands.
/// Repeats a 429 or 5xx with Retry-After up to ten times within the deadline, as client-go does,
/// and a GET, PUT or DELETE once and immediately if its connection breaks before the answer. The
/// caller repeats everything else.
/// Threads: any; one call at a time of a thread.
/// Errors:  the server's answer as a code: NOT_FOUND 404, ALREADY_EXISTS and ABORTED 409 by reason
///          (AlreadyExists, else a conflict), OUT_OF_RANGE 410, INVALID_ARGUMENT 400 and 422,
///          UNAUTHENTICATED 401, PERMISSION_DENIED 403, RESOURCE_EXHAUSTED 429 and 413, UNAVAILABLE
///          5xx; the message is the Status object's. An answer without a Status object is not the
///          API's: only 401, 413 and 429 keep their meaning, all else is UNAVAILABLE.
///          Transport's errors. DATA_LOSS: a success that is unreadable or of another kind.
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

class ClientMetrics;  // defined in client_metrics.h

/// True if no answer came, if the server is unable to work, or if a proxy answered.
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
    /// Waits for an answer or a Retry-After. If empty, it waits on the real clock, whatever `clock`
    /// is.
    WaitUntil wait = nullptr;
  };
  using Message = google::protobuf::Message;

  Client(const Clock& clock, Transport& transport, Options options);

  /// `path` names an object, "/api/v1/nodes/n1", or a collection with a query. `into` may be null,
  /// here and below.
  Status Get(const std::string& path, Message* into, const Deadline& deadline);

  /// `path` names the collection.
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
    std::string uid;                    // empty: any
    int64_t grace_period_seconds = -1;  // negative: the object's own
  };
  Status Delete(const std::string& path, const Preconditions& preconditions,
                const Deadline& deadline);

 private:
  /// Sends the request, with repetitions, and reads the answer.
  Status Exchange(Request request, Message* into, const Deadline& deadline);
  StatusOr<Response> Call(const Request& request, const Deadline& deadline);
  StatusOr<Response> Ask(const Request& request, const Deadline& deadline);

  const Clock& clock_;
  Transport& transport_;
  const Options options_;
};

/// Escapes a part of a path or a value of a query.
std::string Escaped(std::string_view text);

}  // namespace splitlet::apiclient
