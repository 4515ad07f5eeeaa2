#include "libs/fake_api/objects.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/status.pb.h"
#include "k8s.io/apimachinery/pkg/runtime/runtime.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/type_info.h"

namespace splitlet::fake_api {

using apiclient::Request;
using apiclient::Response;

namespace {

namespace meta = k8s::io::apimachinery::pkg::apis::meta::v1;
namespace runtime = k8s::io::apimachinery::pkg::runtime;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::string_view kMagic{"k8s\0", 4};
constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

std::string Serialized(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

const FieldDescriptor* FieldOf(const Message& message, const std::string& name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

std::string ScalarText(const Message& holder, const kube::FieldInfo& info) {
  const auto* field = info.field;
  const auto type = field->cpp_type();
  if (type == FieldDescriptor::CPPTYPE_STRING) return info.reflection->GetString(holder, field);
  if (type == FieldDescriptor::CPPTYPE_BOOL)
    return info.reflection->GetBool(holder, field) ? "true" : "false";
  if (type == FieldDescriptor::CPPTYPE_INT32)
    return std::to_string(info.reflection->GetInt32(holder, field));
  if (type == FieldDescriptor::CPPTYPE_INT64)
    return std::to_string(info.reflection->GetInt64(holder, field));
  return "";
}

/// The API's reason for each status code.
struct Reason {
  StatusCode status;
  int code;
  const char* reason;
};
constexpr Reason kReasons[] = {
    {StatusCode::kNotFound, 404, "NotFound"},
    {StatusCode::kAlreadyExists, 409, "AlreadyExists"},
    {StatusCode::kAborted, 409, "Conflict"},
    {StatusCode::kOutOfRange, 410, "Expired"},
    {StatusCode::kInvalidArgument, 400, "BadRequest"},
    {StatusCode::kFailedPrecondition, 422, "Invalid"},
    {StatusCode::kUnauthenticated, 401, "Unauthorized"},
    {StatusCode::kPermissionDenied, 403, "Forbidden"},
    {StatusCode::kResourceExhausted, 429, "TooManyRequests"},
    {StatusCode::kUnimplemented, 405, "MethodNotAllowed"},
    {StatusCode::kDataLoss, 415, "UnsupportedMediaType"},
    {StatusCode::kDeadlineExceeded, 504, "Timeout"},
    {StatusCode::kUnavailable, 503, "ServiceUnavailable"},
    {StatusCode::kInternal, 500, "InternalError"},
};
const Reason& ReasonOf(StatusCode code) {
  for (const auto& reason : kReasons) {
    if (reason.status == code) return reason;
  }
  return kReasons[std::size(kReasons) - 1];
}

meta::Status StatusObject(const Status& status, const Place* place) {
  const Reason& reason = ReasonOf(status.code());
  meta::Status object;
  object.mutable_metadata();
  object.set_status("Failure");
  object.set_message(splitlet::Message(status));
  object.set_reason(reason.reason);
  object.set_code(reason.code);
  if (place != nullptr) {
    auto& details = *object.mutable_details();
    if (!place->name.empty()) details.set_name(place->name);
    if (!place->kind->group.empty()) details.set_group(place->kind->group);
    // Validation errors name the kind, all other refusals the resource.
    const bool invalid = reason.status == StatusCode::kFailedPrecondition;
    details.set_kind(invalid ? place->kind->kind : place->kind->resource);
  }
  return object;
}

}  // namespace

Format FormatOf(std::string_view accept) {
  const size_t protobuf = accept.find(kProtobufType), json = accept.find(kJsonType);
  const bool wanted = protobuf != std::string_view::npos && protobuf < json;
  return wanted ? Format::kProtobuf : Format::kJson;
}

std::string_view ContentTypeOf(Format format) {
  return format == Format::kJson ? kJsonType : kProtobufType;
}

kube::ObjectMeta& MetaOf(Message& object) {
  auto* held = object.GetReflection()->MutableMessage(&object, FieldOf(object, "metadata"));
  return static_cast<kube::ObjectMeta&>(*held);
}

const kube::ObjectMeta& MetaOf(const Message& object) {
  const auto& held = object.GetReflection()->GetMessage(object, FieldOf(object, "metadata"));
  return static_cast<const kube::ObjectMeta&>(held);
}

std::unique_ptr<Message> Copy(const Message& object) {
  std::unique_ptr<Message> copy(object.New());
  copy->CopyFrom(object);
  return copy;
}

void CopyField(const Message& from, Message& to, const std::string& name) {
  const auto* field = FieldOf(from, name);
  if (field == nullptr) return;
  const auto* reflection = from.GetReflection();
  if (reflection->HasField(from, field)) {
    reflection->MutableMessage(&to, field)->CopyFrom(reflection->GetMessage(from, field));
  } else {
    reflection->ClearField(&to, field);
  }
}

bool SameField(const Message& a, const Message& b, const std::string& name) {
  const auto* field = FieldOf(a, name);
  if (field == nullptr) return true;
  return SameObject(a.GetReflection()->GetMessage(a, field),
                    b.GetReflection()->GetMessage(b, field));
}

bool SameObject(const Message& a, const Message& b) { return Serialized(a) == Serialized(b); }

std::string FieldText(const Message& object, std::string_view path) {
  const Message* at = &object;
  while (true) {
    const size_t dot = path.find('.');
    const auto& type = kube::TypeInfoOf(*at->GetDescriptor());
    const auto it = type.lookup.find(path.substr(0, dot));
    if (it == type.lookup.end()) return "";
    const kube::FieldInfo& info = *it->second;
    const Message* holder = kube::FindHolder(*at, info);
    if (holder == nullptr || info.field->is_repeated()) return "";
    if (dot == std::string_view::npos) return ScalarText(*holder, info);
    if (info.type == nullptr) return "";
    at = &info.reflection->GetMessage(*holder, info.field);
    path.remove_prefix(dot + 1);
  }
}

std::string Encode(const Message& object, const TypeName& type, Format format) {
  if (format == Format::kJson)
    return kube::ToJson(object, {.api_version = type.api_version, .kind = type.kind});
  runtime::Unknown unknown;
  unknown.mutable_type_meta()->set_api_version(type.api_version);
  unknown.mutable_type_meta()->set_kind(type.kind);
  unknown.set_raw(Serialized(object));
  unknown.set_content_encoding("");
  unknown.set_content_type("");
  return std::string(kMagic) + Serialized(unknown);
}

std::string EncodeList(const Kind& kind, const meta::ListMeta& meta,
                       const std::vector<Object>& items, Format format) {
  if (format == Format::kProtobuf) {
    const std::unique_ptr<Message> list(kind.list->New());
    const auto* reflection = list->GetReflection();
    reflection->MutableMessage(list.get(), FieldOf(*list, "metadata"))->CopyFrom(meta);
    for (const auto& item : items)
      reflection->AddMessage(list.get(), FieldOf(*list, "items"))->CopyFrom(*item);
    return Encode(*list, {kind.api_version(), kind.kind + "List"}, format);
  }
  std::string json = fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[)",
                                 kind.kind, kind.api_version(), kube::ToJson(meta));
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) json += ',';
    json += kube::ToJson(*items[i]);
  }
  return json + "]}";
}

std::string EncodeEvent(std::string_view type, const Message& object, const TypeName& name,
                        Format format) {
  const std::string encoded = Encode(object, name, format);
  if (format == Format::kJson)
    return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, encoded);
  meta::WatchEvent event;
  event.set_type(std::string(type));
  event.mutable_object()->set_raw(encoded);
  const std::string bytes = Serialized(event);
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>((bytes.size() >> shift) & 0xff);
  return frame + bytes;
}

StatusOr<std::unique_ptr<Message>> DecodeBody(const Request& request, const Message& prototype,
                                              bool strict) {
  std::unique_ptr<Message> object(prototype.New());
  if (request.content_type.starts_with(kProtobufType)) {
    runtime::Unknown unknown;
    const std::string_view body = request.body;
    if (!body.starts_with(kMagic) ||
        !unknown.ParsePartialFromArray(body.data() + kMagic.size(),
                                       static_cast<int>(body.size() - kMagic.size())) ||
        !object->ParsePartialFromString(unknown.raw()))
      return InvalidArgument("the protobuf body cannot be read");
    return object;
  }
  if (!request.content_type.empty() && !request.content_type.starts_with(kJsonType) &&
      !request.content_type.starts_with("application/yaml"))
    return DataLoss(
        "the body of the request was in an unknown format - accepted media types "
        "include: application/json, application/yaml, {}",
        kProtobufType);
  const auto read =
      kube::DecodeInto(request.body, "body",
                       strict ? kube::Strictness::kStrict : kube::Strictness::kLenient, *object);
  if (!read.ok()) return read.status();
  return object;
}

int HttpCodeOf(StatusCode code) { return ReasonOf(code).code; }

StatusCode StatusCodeOf(int http_code) {
  for (const auto& reason : kReasons) {
    if (reason.code == http_code) return reason.status;
  }
  return StatusCode::kInternal;
}

Response ErrorResponse(const Status& status, const Place* place, Format format) {
  const meta::Status object = StatusObject(status, place);
  return {.code = object.code(),
          .content_type = std::string(ContentTypeOf(format)),
          .body = Encode(object, {"v1", "Status"}, format)};
}

std::string EncodeErrorEvent(const Status& status, Format format) {
  return EncodeEvent("ERROR", StatusObject(status, nullptr), {"v1", "Status"}, format);
}

Response ObjectResponse(int code, const Message& object, const Kind& kind, Format format) {
  return {.code = code,
          .content_type = std::string(ContentTypeOf(format)),
          .body = Encode(object, {kind.api_version(), kind.kind}, format)};
}

Response SuccessResponse(int code, const Place& place, const std::string& uid, Format format) {
  meta::Status object;
  object.mutable_metadata();
  object.set_status("Success");
  if (!uid.empty()) {
    object.mutable_details()->set_name(place.name);
    if (!place.kind->group.empty()) object.mutable_details()->set_group(place.kind->group);
    object.mutable_details()->set_kind(place.kind->resource);
    object.mutable_details()->set_uid(uid);
  }
  if (code != 200) object.set_code(code);
  return {.code = code,
          .content_type = std::string(ContentTypeOf(format)),
          .body = Encode(object, {"v1", "Status"}, format)};
}

}  // namespace splitlet::fake_api
