#pragma once

/// Objects of an API server: read, made, replaced, patched, deleted. Blocking, for strands.
/// A 429 or 503 with Retry-After, and a connection that breaks before the answer, are tried again
/// within the deadline, as client-go does; all else is the caller's to try again.
/// Threads: any; one call at a time of a thread.
/// Errors:  the server's answer as a code: NOT_FOUND 404, ALREADY_EXISTS and ABORTED 409 by reason
///          (AlreadyExists, else a conflict), OUT_OF_RANGE 410, INVALID_ARGUMENT 400 and 422,
///          UNAUTHENTICATED 401, PERMISSION_DENIED 403, RESOURCE_EXHAUSTED 429 and 413, UNAVAILABLE
///          5xx; its message is the Status object's. Those of Transport; DATA_LOSS for an answer
///          that cannot be read.
/// Source:  client-go rest.Request; API conventions of Kubernetes, "Status".

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libs/apiclient/transport.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

enum class ContentType { kJson, kProtobuf };
enum class PatchType { kMerge, kStrategicMerge, kJsonPatch };

/// Bounds the calls of one purpose: a bucket of `burst` that fills with `qps`. Shared by clients.
class RateLimiter;
class ClientMetrics;

class Client {
 public:
  struct Options {
    ContentType content = ContentType::kProtobuf;
    std::shared_ptr<RateLimiter> limiter;    // null: none
    std::shared_ptr<ClientMetrics> metrics;  // null: none
  };
  using Message = google::protobuf::Message;

  Client(const Clock& clock, Transport& transport, Options options);

  /// `path`: of the object, such as "/api/v1/nodes/n1". `into` may be null.
  Status Get(const std::string& path, Message* into, const Deadline& deadline);
  /// `path`: of the collection. `kind`: of `object` ("Node"), `api_version`: "v1".
  Status Create(const std::string& path, std::string_view api_version, std::string_view kind,
                const Message& object, Message* into, const Deadline& deadline);
  Status Update(const std::string& path, std::string_view api_version, std::string_view kind,
                const Message& object, Message* into, const Deadline& deadline);
  Status Patch(const std::string& path, PatchType type, const std::string& json, Message* into,
               const Deadline& deadline);

  struct Preconditions {
    std::string uid;  // empty: whichever it is
    int64_t grace_period_seconds = -1;  // below 0: as the object says
  };
  Status Delete(const std::string& path, const Preconditions& preconditions,
                const Deadline& deadline);

 private:
  StatusOr<Response> Call(Request request, const Deadline& deadline);

  const Clock& clock_;
  Transport& transport_;
  Options options_;
};

/// The answer's code and its Status object as an error; OK for 2xx.
Status StatusOf(const Response& response);

/// Reads an answer's body, JSON or protobuf by its content type, into `into`.
Status ReadObject(const Response& response, google::protobuf::Message& into);

/// A part of a path or a value of a query, escaped.
std::string Escaped(std::string_view text);

}  // namespace splitlet::apiclient
