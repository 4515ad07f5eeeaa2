#include "services/config-source/sources/manifest.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"
#include "libs/kube/codec.h"
#include "libs/kube/gated_fields.h"
#include "libs/kube/names.h"
#include "libs/kube/pod_bytes.h"
#include "libs/kube/validation.h"

namespace splitlet::config_source {
namespace {

Status CheckUid(const std::string& uid) {
  const std::string problem = kube::CheckUid(uid);
  if (problem.empty()) return OkStatus();
  return InvalidArgument("invalid pod: metadata.uid: Invalid value: \"{}\": {}", uid, problem);
}

struct Document {
  std::string_view text;
  std::string prefix;  // of paths in it: "items[2]."
  const Origin& origin;
};

/// Names the manifest, and the line of the first field that is wrong.
Status Complete(kube::Pod& pod, const Document& document, std::vector<std::string>& warnings) {
  const Origin& origin = document.origin;
  if (!pod.metadata().uid().empty())
    RETURN_IF_ERROR(CheckUid(pod.metadata().uid()), "{}", origin.location);
  kube::EnsureStaticUid(pod, origin);  // before fields are dropped: gates do not change the UID
  for (std::string& taken : kube::TakeOutGatedFields(pod, origin.gates_off))
    warnings.push_back(std::move(taken));
  const Status status = kube::CompleteStaticPod(pod, origin);
  if (status.ok()) return status;
  const auto errors = kube::ValidatePod(pod);
  const bool invalid = !errors.empty() && kube::ToStatus(errors) == status;
  const size_t line = invalid ? kube::FindLine(document.text, document.prefix + errors[0].path) : 0;
  if (line == 0) return Annotate(status, origin.location);
  return InvalidArgument("{}: {} (line {})", origin.location, Message(status), line);
}

Status AddPod(kube::Pod& pod, const Document& document, DecodedPods& out) {
  const Origin& origin = document.origin;
  if (const Status status = Complete(pod, document, out.warnings); !status.ok()) {
    // A misspelt field is often the reason why a required field is missing.
    std::string reason = Message(status);
    for (const auto& warning : out.warnings) reason += "; " + warning;
    return InvalidArgument("{}", OneLine(reason));
  }
  auto bytes = std::make_shared<const std::string>(kube::SerializeStable(pod));
  if (bytes->size() > kMaxPodBytes)
    return InvalidArgument("{}: the pod takes {} bytes, more than {}", origin.location,
                           bytes->size(), kMaxPodBytes);
  const auto& meta = pod.metadata();
  out.pods.push_back(std::make_shared<const SourcePod>(SourcePod{.uid = meta.uid(),
                                                                 .name = meta.name(),
                                                                 .name_space = meta.namespace_(),
                                                                 .origin = origin.location,
                                                                 .bytes = std::move(bytes)}));
  return OkStatus();
}

}  // namespace

StatusOr<DecodedPods> DecodeManifest(std::string_view text, const Origin& origin) {
  static const std::vector<kube::KnownKind> kinds = {{"v1", "Pod", &kube::Pod::default_instance()}};
  auto decoded = kube::Decode(text, origin.location, kube::Strictness::kLenient, kinds);
  if (!decoded.ok())
    return InvalidArgument("{}: couldn't parse as pod({}), please check config file",
                           origin.location, OneLine(Message(decoded.status())));
  DecodedPods out{.pods = {}, .warnings = std::move(decoded->warnings)};
  const Status added = AddPod(*decoded->As<kube::Pod>(), {text, {}, origin}, out);
  if (!added.ok()) return added;
  return out;
}

StatusOr<DecodedPods> DecodePayload(std::string_view text, const Origin& origin) {
  auto decoded = kube::Decode(text, origin.location, kube::Strictness::kLenient, kube::PodKinds());
  if (!decoded.ok())
    return InvalidArgument("{}: couldn't parse as single or multiple pods ({})", origin.location,
                           OneLine(Message(decoded.status())));
  DecodedPods out{.pods = {}, .warnings = std::move(decoded->warnings)};
  if (const auto pod = decoded->As<kube::Pod>()) {
    const Status added = AddPod(*pod, {text, {}, origin}, out);
    if (!added.ok()) return added;
    return out;
  }
  auto& items = *decoded->As<kube::PodList>()->mutable_items();
  for (int i = 0; i < items.size(); ++i) {
    const Status added = AddPod(items[i], {text, fmt::format("items[{}].", i), origin}, out);
    if (!added.ok()) return added;
  }
  return out;
}

}  // namespace splitlet::config_source
