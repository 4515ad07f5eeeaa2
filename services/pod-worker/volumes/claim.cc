#include "services/pod-worker/volumes/claim.h"

#include <algorithm>
#include <vector>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "k8s.io/api/core/v1/scheduling.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/kube/node_match.h"
#include "libs/node/machine.h"
#include "services/pod-worker/volumes/mounted_names.h"

namespace splitlet::pod_worker {

namespace {

constexpr std::string_view kProtection = "kubernetes.io/pvc-protection";

bool IsGoing(const Claim& claim) {
  const auto& meta = claim.metadata();
  return meta.has_deletion_timestamp() &&
         std::ranges::find(meta.finalizers(), kProtection) == meta.finalizers().end();
}

Status CheckBound(const PersistentVolume& volume, const Claim& claim) {
  const std::string& name = volume.metadata().name();
  if (!volume.spec().has_claim_ref())
    return FailedPrecondition(
        "found PV object {} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to "
        "the claim",
        name);
  const std::string& uid = volume.spec().claim_ref().uid();
  if (uid != claim.metadata().uid())
    return FailedPrecondition(
        "found PV object {} but its pv.Spec.ClaimRef.UID {} does not point to claim.UID {}", name,
        uid, claim.metadata().uid());
  return OkStatus();
}

/// The claim of an ephemeral volume belongs to one pod.
Status CheckMadeFor(const kube::Pod& pod, const Claim& claim) {
  const auto& owners = claim.metadata().owner_references();
  const bool owned = std::ranges::any_of(owners, [&pod](const auto& owner) {
    return owner.controller() && owner.uid() == pod.metadata().uid();
  });
  if (owned) return OkStatus();
  return FailedPrecondition("PVC {0}/{1} was not created for pod {0}/{2} (pod is not owner)",
                            claim.metadata().namespace_(), claim.metadata().name(),
                            pod.metadata().name());
}

StatusOr<BoundVolume> Find(const kube::Volume& of, const kube::Pod& pod,
                           const ObjectSource& objects) {
  const std::string& volume_name = of.name();
  auto claim = objects.GetClaim({pod.metadata().namespace_(), ClaimNameOf(of, pod)});
  if (!claim.ok()) return Annotate(claim.status(), "failed to fetch PVC from API server");
  if (of.volume_source().has_ephemeral())
    if (Status made_for = CheckMadeFor(pod, **claim); !made_for.ok()) return made_for;
  if (IsGoing(**claim)) return FailedPrecondition("PVC is being deleted");
  if ((*claim)->status().phase() != "Bound") return FailedPrecondition("PVC is not bound");
  const std::string& wanted = (*claim)->spec().volume_name();
  if (wanted.empty()) return FailedPrecondition("PVC has empty pvc.Spec.VolumeName");
  auto volume = objects.GetPersistentVolume(wanted);
  if (!volume.ok())
    return Annotate(volume.status(), fmt::format("failed to fetch PV {} from API server", wanted));
  if (Status bound = CheckBound(**volume, **claim); !bound.ok()) return bound;
  const bool block = (*volume)->spec().volume_mode() == "Block";
  if (block && MountedNames(pod).contains(volume_name))
    return FailedPrecondition("volume {} has volumeMode Block, but is specified in volumeMounts",
                              volume_name);
  if (!block && DeviceNames(pod).contains(volume_name))
    return FailedPrecondition(
        "volume {} has volumeMode Filesystem, but is specified in volumeDevices", volume_name);
  return BoundVolume{*std::move(claim), *std::move(volume)};
}

/// Checks only the labels that a node sets itself. The scheduler has checked the node's other
/// labels, which pod-worker does not know.
bool MayBeHere(k8s::io::api::core::v1::NodeSelector wanted, const std::string& node_name) {
  const auto labels = node::OwnLabels(node_name);
  for (auto& term : *wanted.mutable_node_selector_terms()) {
    auto& all = *term.mutable_match_expressions();
    const auto unknown = std::remove_if(
        all.begin(), all.end(), [&labels](const auto& one) { return !labels.contains(one.key()); });
    if (unknown == all.end()) continue;
    all.erase(unknown, all.end());
    if (all.empty() && term.match_fields().empty()) return true;
  }
  return kube::MatchesNode(wanted, labels, node_name);
}

}  // namespace

StatusOr<BoundVolume> VolumeOfClaim(const kube::Volume& volume, const kube::Pod& pod,
                                    const ObjectSource& objects) {
  const ObjectName name{pod.metadata().namespace_(), ClaimNameOf(volume, pod)};
  auto found = Find(volume, pod, objects);
  if (!found.ok())
    return MakeStatus(found.status().code(), "error processing PVC {}/{}: {}", name.name_space,
                      name.name, Message(found.status()));
  return found;
}

Status CheckNodeAffinity(const PersistentVolume& volume, const std::string& node_name) {
  const auto& affinity = volume.spec().node_affinity();
  if (!affinity.has_required() || MayBeHere(affinity.required(), node_name)) return OkStatus();
  return FailedPrecondition("no matching NodeSelectorTerms");
}

}  // namespace splitlet::pod_worker
