#include "services/pod-worker/termination/pre_stop.h"

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"

namespace splitlet::pod_worker {

namespace {

const kube::Container* Find(const kube::Pod& pod, const std::string& name) {
  for (const auto* list : {&pod.spec().containers(), &pod.spec().init_containers()})
    for (const auto& container : *list)
      if (container.name() == name) return &container;
  return nullptr;
}

}  // namespace

std::vector<PreStop> PreStopHooks(const PreStopQuestion& question) {
  std::vector<PreStop> hooks;
  if (question.pod == nullptr) return hooks;
  for (const auto& stop : question.stops) {
    const kube::Container* container = Find(*question.pod, stop.name);
    if (container == nullptr || !container->lifecycle().has_pre_stop()) continue;
    PreStop hook{stop, MakeHookCall({*question.pod, *container, container->lifecycle().pre_stop(),
                                     question.pod_ip})};
    if (const auto begun = question.begun.find(stop.id); begun != question.begun.end()) {
      hook.begun_before = true;
      hook.call.sleep -= question.now - begun->second;
      if (hook.call.kind != HookCall::Kind::kSleep || hook.call.sleep <= Duration{0}) continue;
    }
    hooks.push_back(std::move(hook));
  }
  return hooks;
}

}  // namespace splitlet::pod_worker
