#include "libs/apiclient/object_meta.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/base/status.h"

namespace splitlet::apiclient {

std::string ResourceVersionOf(const google::protobuf::Message& object) {
  using k8s::io::apimachinery::pkg::apis::meta::v1::ObjectMeta;
  const auto* field = object.GetDescriptor()->FindFieldByName("metadata");
  CHECK(field != nullptr && field->message_type() == ObjectMeta::descriptor(), "{}",
        object.GetDescriptor()->full_name());
  const auto& metadata = object.GetReflection()->GetMessage(object, field);
  return static_cast<const ObjectMeta&>(metadata).resource_version();
}

}  // namespace splitlet::apiclient
