#include "services/config-source/manifest.h"

#include <algorithm>
#include <cctype>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "services/config-source/pod_bytes.h"

namespace splitlet::config_source {
namespace {

/// A record holds the pod and a little more, and is limited to 16 MiB.
constexpr size_t kMaxPodBytes = 15u << 20;

/// The UID becomes the name of directories and files on this node.
Status CheckUid(const std::string& uid) {
  const bool good = !uid.empty() && uid.size() <= 64 && std::ranges::all_of(uid, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
  if (good) return OkStatus();
  return InvalidArgument(
      "invalid pod: metadata.uid: Invalid value: \"{}\": must be at most 64 letters, digits and "
      "'-'",
      uid);
}

Status AddPod(kube::Pod& pod, const Origin& origin, DecodedPods& out) {
  if (!pod.metadata().uid().empty())
    RETURN_IF_ERROR(CheckUid(pod.metadata().uid()), "{}", origin.location);
  RETURN_IF_ERROR(kube::CompleteStaticPod(pod, origin), "{}", origin.location);
  auto bytes = std::make_shared<const std::string>(SerializeStable(pod));
  if (bytes->size() > kMaxPodBytes)
    return InvalidArgument("{}: the pod takes {} bytes, more than {}", origin.location,
                           bytes->size(), kMaxPodBytes);
  const auto& meta = pod.metadata();
  out.pods.push_back(std::make_shared<const SourcePod>(
      SourcePod{meta.uid(), meta.name(), meta.namespace_(), origin.location, std::move(bytes)}));
  return OkStatus();
}

}  // namespace

StatusOr<DecodedPods> DecodeManifest(std::string_view text, const Origin& origin) {
  static const std::vector<kube::KnownKind> kinds = {{"v1", "Pod", &kube::Pod::default_instance()}};
  auto decoded = kube::Decode(text, origin.location, kube::Strictness::kLenient, kinds);
  if (!decoded.ok())
    return InvalidArgument("{}: couldn't parse as pod({}), please check config file",
                           origin.location, Message(decoded.status()));
  DecodedPods out{.pods = {}, .warnings = std::move(decoded->warnings)};
  const Status added = AddPod(*decoded->As<kube::Pod>(), origin, out);
  if (!added.ok()) return added;
  return out;
}

StatusOr<DecodedPods> DecodePayload(std::string_view text, const Origin& origin) {
  auto decoded = kube::Decode(text, origin.location, kube::Strictness::kLenient, kube::PodKinds());
  if (!decoded.ok())
    return InvalidArgument("{}: couldn't parse as single or multiple pods ({})", origin.location,
                           Message(decoded.status()));
  DecodedPods out{.pods = {}, .warnings = std::move(decoded->warnings)};
  if (const auto pod = decoded->As<kube::Pod>()) {
    const Status added = AddPod(*pod, origin, out);
    if (!added.ok()) return added;
    return out;
  }
  for (auto& pod : *decoded->As<kube::PodList>()->mutable_items()) {
    const Status added = AddPod(pod, origin, out);
    if (!added.ok()) return added;
  }
  return out;
}

}  // namespace splitlet::config_source
