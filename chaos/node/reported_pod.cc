#include "chaos/node/reported_pod.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "chaos/node/manifest.h"
#include "k8s.io/api/core/v1/event.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::chaos {
namespace {

ReportedPod ToReported(const kube::Pod& pod) {
  const auto& meta = pod.metadata();
  ReportedPod reported{.name = meta.name(), .uid = meta.uid(), .phase = "", .containers = {}};
  ReadStatus(pod.status(), reported);
  reported.mirror = kube::IsMirror(pod);
  reported.deleting = meta.has_deletion_timestamp();
  if (const auto label = meta.labels().find(kVersionLabel); label != meta.labels().end()) {
    const std::string& text = label->second;
    std::from_chars(text.data(), text.data() + text.size(), reported.version);
  }
  return reported;
}

}  // namespace

void ReadStatus(const kube::PodStatus& status, ReportedPod& pod) {
  pod.phase = status.phase();
  for (const auto& condition : status.conditions())
    if (condition.type() == "Ready") pod.ready = condition.status() == "True";
  for (const auto& c : status.container_statuses())
    pod.containers.push_back({.name = c.name(),
                              .id = c.container_id(),
                              .restarts = c.restart_count(),
                              .ready = c.ready(),
                              .running = c.state().has_running()});
}

StatusOr<std::vector<ReportedPod>> ParsePodList(const std::string& json) {
  k8s::io::api::core::v1::PodList list;
  RETURN_IF_ERROR(kube::DecodeInto(json, "pods", kube::Strictness::kLenient, list), "list");
  std::vector<ReportedPod> pods;
  for (const auto& pod : list.items()) pods.push_back(ToReported(pod));
  return pods;
}

StatusOr<std::vector<SeenEvents>> ParseEventList(const std::string& json) {
  k8s::io::api::core::v1::EventList list;
  RETURN_IF_ERROR(kube::DecodeInto(json, "events", kube::Strictness::kLenient, list), "list");
  std::map<std::string, SeenEvents> by_uid;
  for (const auto& event : list.items()) {
    const auto& about = event.involved_object();
    if (about.kind() != "Pod") continue;
    SeenEvents& seen = by_uid[about.uid()];
    seen.pod = about.name();
    seen.uid = about.uid();
    seen.count += std::max(1, event.count());
  }
  std::vector<SeenEvents> all;
  for (auto& [uid, seen] : by_uid) all.push_back(std::move(seen));
  return all;
}

}  // namespace splitlet::chaos
