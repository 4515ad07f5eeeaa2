#pragma once

/// Kubernetes events about one pod, with a kubelet's reasons and words.
/// Threads: any.
/// Errors:  none; events are best effort.
/// Source:  docs/behaviour/pod-sync.md, "Reasons and events".

#include <set>
#include <string>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/daemon/service.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

struct PodRef {
  std::string uid, name, name_space;
  std::set<std::string> inits = {};       // names of its init containers
  std::set<std::string> ephemerals = {};  // and of its ephemeral ones
};
/// Of a whole pod.
inline PodRef RefOf(const kube::Pod& pod) {
  PodRef ref{pod.metadata().uid(), pod.metadata().name(), pod.metadata().namespace_(), {}, {}};
  for (const auto& init : pod.spec().init_containers()) ref.inits.insert(init.name());
  for (const auto& ephemeral : pod.spec().ephemeral_containers())
    ref.ephemerals.insert(ephemeral.ephemeral_container_common().name());
  return ref;
}

class PodEvents {
 public:
  PodEvents(daemon::EventRecorder& recorder, PodRef pod)
      : recorder_(recorder), pod_(std::move(pod)) {}
  using Step = daemon::PodEvent::Step;
  void Normal(std::string reason, std::string message, std::string container = {}) {
    Record({.reason = std::move(reason),
            .message = std::move(message),
            .container = std::move(container)});
  }
  void Warning(std::string reason, std::string message, std::string container = {}) {
    Record({.warning = true,
            .reason = std::move(reason),
            .message = std::move(message),
            .container = std::move(container)});
  }
  void PullBegan(std::string message, std::string container) {
    Record({.reason = "Pulling",
            .message = std::move(message),
            .container = std::move(container),
            .step = Step::kPullBegan});
  }
  void PullEnded(std::string message, std::string container) {
    Record({.reason = "Pulled",
            .message = std::move(message),
            .container = std::move(container),
            .step = Step::kPullEnded});
  }
  const PodRef& pod() const { return pod_; }

 private:
  void Record(daemon::PodEvent event) {
    event.name_space = pod_.name_space;
    event.name = pod_.name;
    event.uid = pod_.uid;
    event.init_container = pod_.inits.contains(event.container);
    event.ephemeral_container = pod_.ephemerals.contains(event.container);
    recorder_.Record(std::move(event));
  }
  daemon::EventRecorder& recorder_;
  PodRef pod_;
};

}  // namespace splitlet::pod_worker
