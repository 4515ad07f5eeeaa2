#pragma once

/// Objects of the API as an API server sends and takes them: JSON, or protobuf in its envelope.
/// Threads: any; pure functions.
/// Errors:  DATA_LOSS for what cannot be read. No part of it is quoted: it may be a secret.
/// Source:  Kubernetes API, encoding in protobuf; Kubernetes API conventions, Status.

#include <string>
#include <string_view>

#include "libs/apiclient/transport.h"
#include "libs/base/status.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

enum class ContentType { kJson, kProtobuf };

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

/// {"v1", "Node", node}
struct Content {
  std::string_view api_version, kind;
  const google::protobuf::Message& object;
};
std::string EncodeObject(ContentType type, const Content& content);
std::string_view MimeOf(ContentType type);
/// What is asked for in answers. A server may answer in JSON whatever is asked for.
std::string AcceptOf(ContentType type);

/// What `bytes` say of themselves; empty where they say nothing.
struct TypeOfObject {
  std::string api_version, kind;
};
/// JSON, or the envelope; whatever kind it says it is.
StatusOr<TypeOfObject> DecodeObject(std::string_view bytes, google::protobuf::Message& into);

/// The answer's code and its Status object as an error, by the codes in client.h; OK for 2xx. What
/// has no such object is of something in front of the server: UNAVAILABLE, but for 401, 413 and
/// 429.
Status StatusOf(const Response& response);
/// The same for an object that a watch sends instead of an event.
Status StatusOfObject(std::string_view bytes);

/// Reads an answer's body into `into`, whose kind it must be.
Status ReadObject(const Response& response, google::protobuf::Message& into);
/// OK: the answer to what was done is one of the API, an object or the Status of a success.
Status CheckObject(const Response& response);

}  // namespace splitlet::apiclient
