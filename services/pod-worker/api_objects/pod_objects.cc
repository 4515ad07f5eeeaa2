#include "services/pod-worker/api_objects/pod_objects.h"

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

Duration PodObjects::Prepare(const Worker& worker) {
  if (api_ == nullptr || !worker.grant) return Duration{0};
  // A pod that an earlier run of pod-worker granted may run, and its tokens may be good.
  const bool is_new = !worker.syncs.synced_once && worker.times.granted_at;
  if (worker.traits.is_static && !is_new) return Duration{0};
  Hold(worker);
  return api_->Holds(worker.uid) ? api_->Prepare(worker.uid, is_new) : Duration{0};
}

void PodObjects::Hold(const Worker& worker) {
  const std::pair granted{worker.grant->incarnation, worker.grant->generation};
  auto& held = held_[worker.uid];
  if (held == granted) return;
  held = granted;
  const auto pod = worker.grant->Parsed().Get();
  if (!worker.traits.is_static) {
    api_->Hold(*pod, worker.incarnation);
  } else if (AwaitsClass(*pod)) {
    api_->HoldStatic(worker.uid);
  }
}

bool PodObjects::AwaitsClass(const kube::Pod& static_pod) const {
  const std::string& name = static_pod.spec().runtime_class_name();
  const auto folder = folder_ ? folder_() : nullptr;
  return !name.empty() && (folder == nullptr || !folder->GetRuntimeClass(name).ok());
}

void PodObjects::Forget(const std::string& uid) {
  if (held_.erase(uid) > 0) api_->Release(uid);
}

std::shared_ptr<const ObjectSource> PodObjects::View(const Worker& worker) const {
  auto folder = folder_ ? folder_() : nullptr;
  if (api_ == nullptr) return folder;
  if (worker.traits.is_static) return api_->ViewBeside(std::move(folder));
  return api_->Holds(worker.uid) ? api_->View(worker.uid) : nullptr;
}

}  // namespace splitlet::pod_worker
