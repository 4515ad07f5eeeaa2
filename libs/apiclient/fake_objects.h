#pragma once

/// Objects of the server in memory on the wire: JSON and Kubernetes' protobuf, single, in lists and
/// as events of a watch; errors as Status objects.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT of a body that is not of its kind; DATA_LOSS of a content type that the
///         server does not read.
/// Source: Kubernetes API, "Alternate representations of resources"; Kubernetes API conventions,
///         "Response Status Kind".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libs/apiclient/fake_kinds.h"
#include "libs/apiclient/transport.h"
#include "libs/kube/pod_types.h"

namespace k8s::io::apimachinery::pkg::apis::meta::v1 {
class DeleteOptions;
class ListMeta;
}  // namespace k8s::io::apimachinery::pkg::apis::meta::v1

namespace splitlet::apiclient {

using Object = std::shared_ptr<const google::protobuf::Message>;
enum class Format { kJson, kProtobuf };

/// Of a request's Accept; JSON when it says nothing.
Format FormatOf(std::string_view accept);
std::string_view ContentTypeOf(Format format);

kube::ObjectMeta& MetaOf(google::protobuf::Message& object);
const kube::ObjectMeta& MetaOf(const google::protobuf::Message& object);
std::unique_ptr<google::protobuf::Message> Copy(const google::protobuf::Message& object);
/// A top-level field as it is in `from`, also when it is not there.
void CopyField(const google::protobuf::Message& from, google::protobuf::Message& to,
               const std::string& name);
bool SameField(const google::protobuf::Message& a, const google::protobuf::Message& b,
               const std::string& name);
bool SameObject(const google::protobuf::Message& a, const google::protobuf::Message& b);
/// Text of a field by its JSON path, "spec.nodeName"; "" where there is none.
std::string FieldText(const google::protobuf::Message& object, std::string_view path);

struct TypeName {
  std::string api_version, kind;
};
std::string Encode(const google::protobuf::Message& object, const TypeName& type, Format format);
std::string EncodeList(const Kind& kind,
                       const k8s::io::apimachinery::pkg::apis::meta::v1::ListMeta& meta,
                       const std::vector<Object>& items, Format format);
/// One frame of a watch. `type`: "ADDED"...
std::string EncodeEvent(std::string_view type, const google::protobuf::Message& object,
                        const TypeName& name, Format format);

/// `prototype`: whose type the object has. `strict`: unknown fields are an error.
StatusOr<std::unique_ptr<google::protobuf::Message>> DecodeBody(
    const Request& request, const google::protobuf::Message& prototype, bool strict);

/// Of the error: a code that HTTP has, and a Status object that says the same.
int HttpCodeOf(StatusCode code);
/// INTERNAL for what is not known.
StatusCode StatusCodeOf(int http_code);
Response ErrorResponse(const Status& status, const Place* place, Format format);
std::string EncodeErrorEvent(const Status& status, Format format);
Response ObjectResponse(int code, const google::protobuf::Message& object, const Kind& kind,
                        Format format);
/// A Status object that says "Success".
Response SuccessResponse(int code, const Place& place, const std::string& uid, Format format);

}  // namespace splitlet::apiclient
