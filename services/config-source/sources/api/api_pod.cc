#include "services/config-source/sources/api/api_pod.h"

#include <google/protobuf/message.h>

#include <string>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/text.h"
#include "libs/kube/names.h"
#include "libs/kube/pod_bytes.h"
#include "services/config-source/sources/manifest.h"

namespace splitlet::config_source {
namespace {

namespace pb = google::protobuf;

/// `i`: of a repeated field; -1 for a single field.
std::string StringAt(const pb::Message& message, const pb::FieldDescriptor& field, int i) {
  const pb::Reflection& reflection = *message.GetReflection();
  return i < 0 ? reflection.GetString(message, &field)
               : reflection.GetRepeatedString(message, &field, i);
}

const pb::Message& MessageAt(const pb::Message& message, const pb::FieldDescriptor& field, int i) {
  const pb::Reflection& reflection = *message.GetReflection();
  return i < 0 ? reflection.GetMessage(message, &field)
               : reflection.GetRepeatedMessage(message, &field, i);
}

/// The path of the first string in `message` that is not text: "metadata.labels.value"; empty:
/// none.
std::string FindNoText(const pb::Message& message) {
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const bool many = field->is_repeated();
    const int end = many ? message.GetReflection()->FieldSize(message, field) : 0;
    for (int i = many ? 0 : -1; i < end; ++i) {
      if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
        const std::string below = FindNoText(MessageAt(message, *field, i));
        if (!below.empty()) return field->json_name() + "." + below;
      } else if (field->type() == pb::FieldDescriptor::TYPE_STRING &&
                 !IsText(StringAt(message, *field, i))) {
        return field->json_name();
      }
    }
  }
  return {};
}

Status CheckField(const char* path, const std::string& value, const std::string& problem) {
  if (problem.empty()) return OkStatus();
  return InvalidArgument("{}: Invalid value: \"{}\": {}", path, ToText(value, 128), problem);
}

}  // namespace

StatusOr<SourcePodRef> AcceptApiPod(const kube::Pod& pod, const kube::GatesOff& off,
                                    std::vector<std::string>& dropped) {
  const auto& meta = pod.metadata();
  Status good = CheckField("metadata.uid", meta.uid(), kube::CheckUid(meta.uid()));
  if (good.ok())
    good = CheckField("metadata.name", meta.name(), kube::CheckDnsSubdomain(meta.name()));
  if (good.ok())
    good =
        CheckField("metadata.namespace", meta.namespace_(), kube::CheckDnsLabel(meta.namespace_()));
  if (!good.ok()) return good;
  kube::Pod accepted = pod;
  accepted.mutable_metadata()->clear_managed_fields();
  dropped = kube::TakeOutGatedFields(accepted, off);
  if (const size_t size = accepted.ByteSizeLong(); size > kMaxPodBytes)
    return InvalidArgument("the pod takes {} bytes, more than {}", size, kMaxPodBytes);
  if (const std::string field = FindNoText(accepted); !field.empty())
    return InvalidArgument("{}: is not UTF-8 without NUL", field);
  auto bytes = std::make_shared<const std::string>(kube::SerializeStable(accepted));
  return std::make_shared<const SourcePod>(SourcePod{.uid = meta.uid(),
                                                     .name = meta.name(),
                                                     .name_space = meta.namespace_(),
                                                     .origin = {},
                                                     .bytes = std::move(bytes),
                                                     .mirror = kube::IsMirror(pod)});
}

}  // namespace splitlet::config_source
