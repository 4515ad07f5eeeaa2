#include "services/pod-worker/api_objects/references.h"

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "services/pod-worker/pod/volume_traits.h"

namespace splitlet::pod_worker {

namespace {

void Add(const std::string& name, std::set<std::string>& names) {
  if (!name.empty()) names.insert(name);
}

template <class C>
void AddContainer(const C& container, References& found) {
  for (const auto& variable : container.env()) {
    const auto& from = variable.value_from();
    Add(from.config_map_key_ref().local_object_reference().name(), found.config_maps);
    Add(from.secret_key_ref().local_object_reference().name(), found.secrets);
  }
  for (const auto& from : container.env_from()) {
    Add(from.config_map_ref().local_object_reference().name(), found.config_maps);
    Add(from.secret_ref().local_object_reference().name(), found.secrets);
  }
}

void AddVolume(const kube::Volume& volume, const kube::Pod& pod, References& found) {
  const auto& source = volume.volume_source();
  Add(source.config_map().local_object_reference().name(), found.config_maps);
  Add(source.secret().secret_name(), found.secrets);
  Add(ClaimNameOf(volume, pod), found.claims);
  for (const auto& part : source.projected().sources()) {
    Add(part.config_map().local_object_reference().name(), found.config_maps);
    Add(part.secret().local_object_reference().name(), found.secrets);
    if (!part.has_service_account_token()) continue;
    const auto& token = part.service_account_token();
    found.tokens.insert({token.audience(), token.expiration_seconds()});
  }
}

}  // namespace

References ReferencesOf(const kube::Pod& pod) {
  References found;
  const auto& spec = pod.spec();
  for (const auto& secret : spec.image_pull_secrets()) Add(secret.name(), found.secrets);
  for (const auto& container : spec.init_containers()) AddContainer(container, found);
  for (const auto& container : spec.containers()) AddContainer(container, found);
  for (const auto& container : spec.ephemeral_containers())
    AddContainer(container.ephemeral_container_common(), found);
  for (const auto& volume : spec.volumes()) AddVolume(volume, pod, found);
  return found;
}

}  // namespace splitlet::pod_worker
