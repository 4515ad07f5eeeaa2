#include "services/sync-loop/grants/allocated.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/same_pod.h"

namespace splitlet::sync_loop {

kube::PodBytes WithAllocated(const kube::PodBytes& wanted, const kube::PodBytes& admitted) {
  if (wanted == admitted) return wanted;
  const kube::Pod as_wanted = wanted.Parse();
  kube::Pod pod = as_wanted;
  kube::CopyResources(admitted.Parse(), pod);
  return kube::IsSamePod(pod, as_wanted) ? wanted : kube::PodBytes::Of(pod);
}

}  // namespace splitlet::sync_loop
