#include "libs/apiclient/wire.h"

#include <google/protobuf/message.h>

#include <vector>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/status.pb.h"
#include "k8s.io/apimachinery/pkg/runtime/runtime.pb.h"
#include "libs/base/one_line.h"
#include "libs/base/text.h"
#include "libs/kube/codec.h"
#include "libs/kube/encode.h"

namespace splitlet::apiclient {
namespace {

using google::protobuf::Message;
using ApiStatus = k8s::io::apimachinery::pkg::apis::meta::v1::Status;
using Envelope = k8s::io::apimachinery::pkg::runtime::Unknown;
using TypeMeta = k8s::io::apimachinery::pkg::runtime::TypeMeta;

constexpr std::string_view kMagic("k8s\0", 4);
constexpr size_t kMaxMessage = 1024;

bool Parse(std::string_view bytes, Message& into) {
  return into.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

StatusCode CodeOf(int code, const std::string& reason) {
  switch (code) {
    case 400:
    case 406:
    case 415:
    case 422: return StatusCode::kInvalidArgument;
    case 401: return StatusCode::kUnauthenticated;
    case 403: return StatusCode::kPermissionDenied;
    case 404: return StatusCode::kNotFound;
    case 405: return StatusCode::kUnimplemented;
    case 409: return reason == "AlreadyExists" ? StatusCode::kAlreadyExists : StatusCode::kAborted;
    case 410: return StatusCode::kOutOfRange;
    case 413:
    case 429: return StatusCode::kResourceExhausted;
    default: return code >= 500 ? StatusCode::kUnavailable : StatusCode::kUnknown;
  }
}

/// For an answer that is not the API's own, such as a proxy's. Such an error is never final,
/// because only the API knows which objects exist, are refused or forgotten.
StatusCode CodeOfOther(int code) {
  switch (code) {
    case 401: return StatusCode::kUnauthenticated;
    case 413:
    case 429: return StatusCode::kResourceExhausted;
    default: return StatusCode::kUnavailable;
  }
}

/// True if the API server itself sent an answer of that code.
bool IsOfCode(int code, const ApiStatus& status) {
  if (status.code() != 0 && status.code() != code) return false;
  return code != 404 || status.reason() == "NotFound";
}

Status ErrorOf(int code, const ApiStatus& status) {
  const std::string& said = status.message().empty() ? status.reason() : status.message();
  return MakeStatus(CodeOf(code, status.reason()), "{}",
                    said.empty() ? fmt::format("the API server answers {}", code)
                                 : OneLine(ToText(said, kMaxMessage)));
}

/// False: the bytes are not a Status object; `status` is unchanged.
bool ReadStatus(std::string_view bytes, ApiStatus& status) {
  const auto type = DecodeObject(bytes, status);
  if (type.ok() && type->kind == "Status") return true;
  status.Clear();
  return false;
}

/// The type that `bytes` name, whatever follows.
StatusOr<TypeOfObject> ReadType(std::string_view bytes) {
  TypeMeta type;
  if (!bytes.starts_with(kMagic)) {
    if (!kube::DecodeInto(bytes, "", kube::Strictness::kLenient, type).ok())
      return DataLoss("neither protobuf of Kubernetes nor JSON");
    return TypeOfObject{type.api_version(), type.kind()};
  }
  Envelope envelope;
  if (!Parse(bytes.substr(kMagic.size()), envelope))
    return DataLoss("an unreadable protobuf envelope");
  return TypeOfObject{envelope.type_meta().api_version(), envelope.type_meta().kind()};
}

}  // namespace

std::string EncodeObject(ContentType type, const Content& content) {
  if (type == ContentType::kJson)
    return kube::ToJson(content.object, {.api_version = std::string(content.api_version),
                                         .kind = std::string(content.kind)});
  Envelope envelope;
  envelope.mutable_type_meta()->set_api_version(std::string(content.api_version));
  envelope.mutable_type_meta()->set_kind(std::string(content.kind));
  CHECK(content.object.SerializeToString(envelope.mutable_raw()));
  std::string bytes(kMagic);
  CHECK(envelope.AppendToString(&bytes));
  return bytes;
}

std::string_view MimeOf(ContentType type) {
  return type == ContentType::kJson ? kJsonType : kProtobufType;
}

std::string AcceptOf(ContentType type) {
  if (type == ContentType::kJson) return std::string(kJsonType);
  return fmt::format("{},{}", kProtobufType, kJsonType);
}

StatusOr<TypeOfObject> DecodeObject(std::string_view bytes, Message& into) {
  if (bytes.starts_with(kMagic)) {
    Envelope envelope;
    if (!Parse(bytes.substr(kMagic.size()), envelope))
      return DataLoss("an unreadable protobuf envelope");
    if (!Parse(envelope.raw(), into))
      return DataLoss("protobuf that is not a {}", into.GetDescriptor()->name());
    return TypeOfObject{envelope.type_meta().api_version(), envelope.type_meta().kind()};
  }
  TypeMeta type;
  if (!kube::DecodeInto(bytes, "", kube::Strictness::kLenient, type).ok() ||
      !kube::DecodeInto(bytes, "", kube::Strictness::kLenient, into).ok())
    return DataLoss("neither protobuf of Kubernetes nor JSON of a {}",
                    into.GetDescriptor()->name());
  return TypeOfObject{type.api_version(), type.kind()};
}

Status StatusOf(const Response& response) {
  if (response.code >= 200 && response.code < 300) return OkStatus();
  ApiStatus status;
  if (ReadStatus(response.body, status) && IsOfCode(response.code, status))
    return ErrorOf(response.code, status);
  const std::string said = ToText(response.body, kMaxMessage / 4);
  return MakeStatus(CodeOfOther(response.code), "the API server answers {}{}", response.code,
                    said.empty() ? "" : ": " + OneLine(said));
}

Status StatusOfObject(std::string_view bytes) {
  ApiStatus status;
  if (!ReadStatus(bytes, status)) return DataLoss("an unreadable error");
  return ErrorOf(status.code() == 0 ? 500 : status.code(), status);
}

Status ReadObject(const Response& response, Message& into) {
  const auto type = DecodeObject(response.body, into);
  if (!type.ok()) return type.status();
  if (type->kind == into.GetDescriptor()->name()) return OkStatus();
  into.Clear();
  return DataLoss("an object of another kind than {}", into.GetDescriptor()->name());
}

Status CheckObject(const Response& response) {
  const auto type = ReadType(response.body);
  if (!type.ok()) return type.status();
  if (type->kind.empty() || type->api_version.empty())
    return DataLoss("not an object of Kubernetes");
  if (type->kind != "Status") return OkStatus();
  ApiStatus status;
  if (ReadStatus(response.body, status) && status.status() == "Success") return OkStatus();
  return DataLoss("a Status that is not a success");
}

}  // namespace splitlet::apiclient
