#pragma once

/// Encoding of API objects: JSON, or protobuf in its envelope.
/// Threads: any; pure functions.
/// Errors:  DATA_LOSS: unreadable. No error quotes the bytes: they may be a secret.
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
/// The Accept header. A server may still answer in JSON.
std::string AcceptOf(ContentType type);

/// The type that `bytes` name; empty if they name none.
struct TypeOfObject {
  std::string api_version, kind;
};
/// Decodes JSON or the envelope, of any kind.
StatusOr<TypeOfObject> DecodeObject(std::string_view bytes, google::protobuf::Message& into);

/// The answer as an error, by its code and Status object and the codes in client.h; OK for 2xx. An
/// answer without such an object comes from something in front of the server: UNAVAILABLE, except
/// for 401, 413 and 429.
Status StatusOf(const Response& response);
/// StatusOf for an object that a watch sends instead of an event.
Status StatusOfObject(std::string_view bytes);

/// Reads an answer's body into `into`, which must be of the same kind.
Status ReadObject(const Response& response, google::protobuf::Message& into);
/// OK: the answer is the API's, an object or the Status of a success.
Status CheckObject(const Response& response);

}  // namespace splitlet::apiclient
