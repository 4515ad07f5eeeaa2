#include "libs/kube/static_pod.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/defaults.h"
#include "libs/kube/validate_metadata.h"
#include "libs/kube/validation.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;

void TolerateNoExecute(PodSpec& spec) {
  const auto same = [](const core::Toleration& t) {
    return t.key().empty() && t.effect() == "NoExecute" && t.operator_() == "Exists" &&
           t.value().empty();
  };
  auto& all = *spec.mutable_tolerations();
  auto it = std::find_if(all.begin(), all.end(), same);
  core::Toleration& toleration = it == all.end() ? *all.Add() : *it;
  toleration.Clear();
  toleration.set_operator_("Exists");
  toleration.set_effect("NoExecute");
}

/// References of a pod to API objects, and whether they are optional.
struct References {
  bool secrets = false, config_maps = false;
};

void AddLocal(const core::LocalObjectReference& reference, bool& found) {
  if (!reference.name().empty()) found = true;
}

template <class C>
void AddContainer(const C& container, References& found) {
  for (const auto& env : container.env()) {
    AddLocal(env.value_from().secret_key_ref().local_object_reference(), found.secrets);
    AddLocal(env.value_from().config_map_key_ref().local_object_reference(), found.config_maps);
  }
  for (const auto& from : container.env_from()) {
    AddLocal(from.secret_ref().local_object_reference(), found.secrets);
    AddLocal(from.config_map_ref().local_object_reference(), found.config_maps);
  }
}

/// Kinds of volumes whose files are contents of API objects.
void AddObjectVolume(const core::VolumeSource& source, References& found) {
  if (!source.secret().secret_name().empty()) found.secrets = true;
  AddLocal(source.config_map().local_object_reference(), found.config_maps);
  for (const auto& part : source.projected().sources()) {
    AddLocal(part.secret().local_object_reference(), found.secrets);
    AddLocal(part.config_map().local_object_reference(), found.config_maps);
  }
}

void AddVolume(const core::VolumeSource& source, References& found) {
  if (!source.azure_file().secret_name().empty()) found.secrets = true;
  for (const auto* reference :
       {&source.csi().node_publish_secret_ref(), &source.cephfs().secret_ref(),
        &source.cinder().secret_ref(), &source.flex_volume().secret_ref(),
        &source.rbd().secret_ref(), &source.scale_io().secret_ref(), &source.iscsi().secret_ref(),
        &source.storageos().secret_ref()})
    AddLocal(*reference, found.secrets);
}

/// `has_objects`: objects for variables and files exist.
References ReferencesOf(const PodSpec& spec, bool has_objects) {
  References found;
  if (!has_objects) {
    for (const auto& reference : spec.image_pull_secrets()) AddLocal(reference, found.secrets);
    for (const auto& container : spec.init_containers()) AddContainer(container, found);
    for (const auto& container : spec.containers()) AddContainer(container, found);
    for (const auto& container : spec.ephemeral_containers())
      AddContainer(container.ephemeral_container_common(), found);
    for (const auto& volume : spec.volumes()) AddObjectVolume(volume.volume_source(), found);
  }
  for (const auto& volume : spec.volumes()) AddVolume(volume.volume_source(), found);
  return found;
}

/// The API object that a volume refers to; empty: none. `has_objects`: config maps, secrets and
/// claims come from another source.
std::string_view ApiPartOf(const core::VolumeSource& source, bool has_objects) {
  if (source.has_csi()) return "csidrivers (via CSI volumes)";
  if (source.has_glusterfs()) return "endpoints (via glusterFS volumes)";
  if (source.has_persistent_volume_claim() && !has_objects) return "persistentvolumeclaims";
  if (source.has_ephemeral()) return "persistentvolumeclaims (via ephemeral volumes)";
  if (source.has_config_map() && !has_objects) return "configmaps (via configmap volumes)";
  if (source.has_secret() && !has_objects) return "secrets (via secret volumes)";
  if (source.has_azure_file()) return "secrets (via azureFile volumes)";
  for (const auto& part : source.projected().sources()) {
    if (part.has_config_map() && !has_objects) return "configmaps (via projected volumes)";
    if (part.has_secret() && !has_objects) return "secrets (via projected volumes)";
    if (part.has_service_account_token()) return "serviceaccounts (via projected volumes)";
    if (part.has_cluster_trust_bundle()) return "clustertrustbundles";
    if (part.has_pod_certificate()) return "podcertificates";
  }
  return {};
}

Status MayNotReference(std::string_view what) {
  return InvalidArgument("static pods may not reference {}", what);
}

}  // namespace

std::string HexHash128(std::string_view text) {
  __extension__ using Uint128 = unsigned __int128;
  constexpr Uint128 kPrime = Uint128{1} << 88U | 0x13bU;
  Uint128 hash = Uint128{0x6c62272e07bb0142ULL} << 64U | 0x62b821756295c58dULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= kPrime;
  }
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash >> 64U),
                     static_cast<uint64_t>(hash));
}

void EnsureStaticUid(Pod& pod, const StaticPodOrigin& origin) {
  auto& metadata = *pod.mutable_metadata();
  if (!metadata.uid().empty()) return;
  // The JSON text contains every set field, with maps in the order of their keys.
  std::string content = ToJson(pod);
  content += origin.source == kFileSource
                 ? "host:" + origin.node_name + "file:" + origin.location
                 : "url:" + (origin.identity.empty() ? origin.location : origin.identity);
  metadata.set_uid(HexHash128(content));
}

void ApplyStaticIdentity(Pod& pod, const StaticPodOrigin& origin) {
  EnsureStaticUid(pod, origin);
  auto& metadata = *pod.mutable_metadata();
  metadata.set_name(metadata.name() + "-" + LowerCase(origin.node_name));
  if (metadata.namespace_().empty()) metadata.set_namespace_(std::string(kDefaultNamespace));
  pod.mutable_spec()->set_node_name(origin.node_name);
  (*metadata.mutable_annotations())[std::string(kConfigHash)] = metadata.uid();
  if (origin.source == kFileSource) TolerateNoExecute(*pod.mutable_spec());
  pod.mutable_status()->set_phase("Pending");
}

Status CheckStaticReferences(const Pod& pod, bool has_objects) {
  const PodSpec& spec = pod.spec();
  if (!spec.service_account_name().empty() || !spec.service_account().empty())
    return MayNotReference("serviceaccounts");
  const References found = ReferencesOf(spec, has_objects);
  if (found.secrets) return MayNotReference("secrets");
  if (found.config_maps) return MayNotReference("configmaps");
  if (spec.resource_claims_size() > 0) return MayNotReference("resourceclaims");
  for (const auto& volume : spec.volumes()) {
    const auto part = ApiPartOf(volume.volume_source(), has_objects);
    if (!part.empty()) return MayNotReference(part);
  }
  return OkStatus();
}

Status CompleteStaticPod(Pod& pod, const StaticPodOrigin& origin) {
  // Computed before the defaults, because a version with more defaults must not restart every pod.
  EnsureStaticUid(pod, origin);
  if (const Status status = ApplyDefaults(pod); !status.ok()) return status;
  if (pod.metadata().name().empty())
    return InvalidArgument("invalid pod: metadata.name: name is needed for the pod");
  ApplyStaticIdentity(pod, origin);
  if (const Status status = ToStatus(ValidatePod(pod)); !status.ok()) return status;
  return CheckStaticReferences(pod, origin.has_objects);
}

}  // namespace splitlet::kube
