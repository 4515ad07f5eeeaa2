#pragma once

/// Objects of the fake API server on the wire: JSON and Kubernetes' protobuf, single, in lists and
/// as events of a watch; errors as Status objects.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT: the body is not of its kind; DATA_LOSS: the server does not read the
///         content type.
/// Source: Kubernetes API, "Alternate representations of resources"; Kubernetes API conventions,
///         "Response Status Kind".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/fake_api/kinds.h"
#include "libs/kube/pod_types.h"

namespace k8s::io::apimachinery::pkg::apis::meta::v1 {
class DeleteOptions;
class ListMeta;
}  // namespace k8s::io::apimachinery::pkg::apis::meta::v1

namespace splitlet::fake_api {

using Object = std::shared_ptr<const google::protobuf::Message>;
enum class Format { kJson, kProtobuf };

/// Format that a request's Accept header asks for; JSON by default.
Format FormatOf(std::string_view accept);
std::string_view ContentTypeOf(Format format);

kube::ObjectMeta& MetaOf(google::protobuf::Message& object);
const kube::ObjectMeta& MetaOf(const google::protobuf::Message& object);
std::unique_ptr<google::protobuf::Message> Copy(const google::protobuf::Message& object);
/// Copies a top-level field; clears it in `to` if `from` lacks it.
void CopyField(const google::protobuf::Message& from, google::protobuf::Message& to,
               const std::string& name);
bool SameField(const google::protobuf::Message& a, const google::protobuf::Message& b,
               const std::string& name);
bool SameObject(const google::protobuf::Message& a, const google::protobuf::Message& b);
/// Text of a field by its JSON path, "spec.nodeName"; "" if absent.
std::string FieldText(const google::protobuf::Message& object, std::string_view path);

struct TypeName {
  std::string api_version, kind;
};
std::string Encode(const google::protobuf::Message& object, const TypeName& type, Format format);
std::string EncodeList(const Kind& kind,
                       const k8s::io::apimachinery::pkg::apis::meta::v1::ListMeta& meta,
                       const std::vector<Object>& items, Format format);
/// A frame of a watch. `type`: "ADDED" and so on.
std::string EncodeEvent(std::string_view type, const google::protobuf::Message& object,
                        const TypeName& name, Format format);

/// `prototype` has the type of the object. `strict`: unknown fields are an error.
StatusOr<std::unique_ptr<google::protobuf::Message>> DecodeBody(
    const apiclient::Request& request, const google::protobuf::Message& prototype, bool strict);

/// HTTP code of an error.
int HttpCodeOf(StatusCode code);
/// INTERNAL for an unknown HTTP code.
StatusCode StatusCodeOf(int http_code);
apiclient::Response ErrorResponse(const Status& status, const Place* place, Format format);
std::string EncodeErrorEvent(const Status& status, Format format);
apiclient::Response ObjectResponse(int code, const google::protobuf::Message& object,
                                   const Kind& kind, Format format);
/// A Status object with status "Success".
apiclient::Response SuccessResponse(int code, const Place& place, const std::string& uid,
                                    Format format);

}  // namespace splitlet::fake_api
