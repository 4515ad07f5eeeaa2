#include "services/status/api/pods/pods_at_server.h"

#include "libs/kube/pod_bytes.h"

namespace splitlet::status {

PodsAtServer::PodsAtServer(const Deps& deps)
    : desired_(deps.desired),
      metrics_(deps.env.metrics),
      mirrors_({.env = deps.env,
                .client = deps.client,
                .owner = deps.owner,
                .desired = deps.desired,
                .workers = deps.workers,
                .node_name = deps.node_name,
                .metrics = metrics_,
                .on_change = [this](const std::string& key) { statuses_.OnMirror(key); },
                .seed = deps.seed}),
      statuses_(
          {.env = deps.env,
           .client = deps.client,
           .finished = deps.finished,
           .table = deps.table,
           .desired = deps.desired,
           .mirrors = mirrors_,
           .metrics = metrics_,
           .on_stored = [this](const std::string& key,
                               const kube::PodStatus& status) { starts_.OnStored(key, status); },
           .seed = deps.seed + 1}),
      starts_(deps.env.clock, deps.desired, metrics_, deps.env.log),
      events_({.env = deps.env,
               .client = deps.events,
               .node_name = deps.node_name,
               .pod_version = [this](const std::string& uid) { return PodVersion(uid); },
               .metrics = metrics_,
               .seed = deps.seed + 2}) {}

void PodsAtServer::BeginStop() {
  mirrors_.BeginStop();
  statuses_.BeginStop();
  events_.BeginStop();
}

void PodsAtServer::OnDesired(const std::string& key) {
  mirrors_.OnDesired(key);  // first: a status goes to the current mirror pod
  statuses_.OnDesired(key);
  starts_.OnDesired(key);
}

void PodsAtServer::OnReconcile() {
  mirrors_.OnReconcile();
  statuses_.OnReconcile();
}

std::string PodsAtServer::PodVersion(const std::string& uid) const {
  const auto record = desired_.Find(bus::KeyOf(uid));
  if (record == nullptr) return {};
  const auto pod = kube::ParsePod(record->pod());
  return pod.ok() ? pod->metadata().resource_version() : std::string();
}

}  // namespace splitlet::status
