#pragma once

/// Kubernetes events about one pod, with a kubelet's reasons and words.
/// Threads: any. Errors: none; events are best effort.
/// Source: metrics-and-logging spec, events; runtime-sync spec, "Start failure reasons and events".

#include <string>

#include "libs/daemon/service.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

struct PodRef {
  std::string uid, name, name_space;
};

class PodEvents {
 public:
  PodEvents(daemon::EventRecorder& recorder, PodRef pod)
      : recorder_(recorder), pod_(std::move(pod)) {}
  void Normal(std::string reason, std::string message, std::string container = {}) {
    Record(false, std::move(reason), std::move(message), std::move(container));
  }
  void Warning(std::string reason, std::string message, std::string container = {}) {
    Record(true, std::move(reason), std::move(message), std::move(container));
  }
  const PodRef& pod() const { return pod_; }

 private:
  void Record(bool warning, std::string reason, std::string message, std::string container) {
    recorder_.Record({warning, std::move(reason), std::move(message), pod_.name_space, pod_.name,
                      pod_.uid, std::move(container)});
  }
  daemon::EventRecorder& recorder_;
  PodRef pod_;
};

}  // namespace splitlet::pod_worker
