#include "services/pod-worker/objects/pod_objects.h"

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

Duration PodObjects::Prepare(const Worker& worker) {
  if (api_ == nullptr || worker.traits.is_static || !worker.grant) return Duration{0};
  const std::pair life{worker.grant->incarnation, worker.grant->generation};
  auto& held = held_[worker.uid];
  kube::Pod pod;
  if (held != life && pod.ParseFromString(worker.grant->pod)) {
    held = life;
    api_->Hold(pod, worker.incarnation);
  }
  if (!api_->Holds(worker.uid)) return Duration{0};
  // One that was granted to an earlier life of this process may run, and its token may be good.
  const bool is_new = !worker.synced_once && worker.granted_at;
  return api_->Prepare(worker.uid, is_new);
}

void PodObjects::Forget(const std::string& uid) {
  if (held_.erase(uid) > 0) api_->Release(uid);
}

std::shared_ptr<const ObjectSource> PodObjects::View(const Worker& worker) const {
  auto own = own_ ? own_() : nullptr;
  if (api_ == nullptr) return own;
  if (worker.traits.is_static) return api_->ViewBeside(std::move(own));
  return api_->Holds(worker.uid) ? api_->View(worker.uid) : nullptr;
}

}  // namespace splitlet::pod_worker
