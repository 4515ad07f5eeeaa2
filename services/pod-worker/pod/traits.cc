#include "services/pod-worker/pod/traits.h"

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/time.pb.h"
#include "libs/kube/pod_types.h"
#include "libs/kube/user_namespace.h"
#include "services/pod-worker/pod/probe_results.h"
#include "services/pod-worker/pod/unsupported_fields.h"
#include "services/pod-worker/pod/volume_traits.h"

namespace splitlet::pod_worker {

PodTraits TraitsOf(const kube::Pod& pod) {
  const auto& meta = pod.metadata();
  PodTraits traits{.uid = meta.uid(), .name = meta.name(), .name_space = meta.namespace_()};
  traits.is_static = kube::IsStatic(pod);
  traits.runs_once = pod.spec().restart_policy() == "Never";
  traits.deleted = meta.has_deletion_timestamp();
  if (meta.has_deletion_grace_period_seconds())
    traits.deletion_grace = meta.deletion_grace_period_seconds();
  if (pod.spec().has_termination_grace_period_seconds())
    traits.spec_grace = pod.spec().termination_grace_period_seconds();
  if (pod.spec().has_active_deadline_seconds())
    traits.active_deadline = pod.spec().active_deadline_seconds();
  if (const auto& start = pod.status().start_time(); !traits.is_static && start.seconds() > 0)
    traits.shown_start_ns = start.seconds() * 1'000'000'000;
  traits.containers = static_cast<size_t>(pod.spec().containers_size());
  for (const auto& init : pod.spec().init_containers()) traits.inits.insert(init.name());
  for (const auto& ephemeral : pod.spec().ephemeral_containers())
    traits.ephemerals.insert(ephemeral.ephemeral_container_common().name());
  traits.has_probes = HasProbes(pod);
  traits.shows_objects = ShowsObjects(pod);
  traits.user_namespace = kube::HasUserNamespace(pod.spec());
  traits.host_network = pod.spec().host_network();
  traits.class_requests = ClassRequestsOf(pod);
  traits.unsupported_fields = UnsupportedFields(pod);
  return traits;
}

}  // namespace splitlet::pod_worker
