#include "services/sync-loop/pods/pod_digests.h"

#include <algorithm>
#include <map>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "libs/peers/worker_standing.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

PodDigest::State StateOf(const v1::DesiredRecord& record) {
  switch (static_cast<int>(record.state())) {  // numbers of later writers are unknown
    case v1::DesiredRecord::WANTED: return PodDigest::State::kWanted;
    case v1::DesiredRecord::UNCONFIRMED: return PodDigest::State::kUnconfirmed;
    case v1::DesiredRecord::REMOVED: return PodDigest::State::kRemoved;
    case v1::DesiredRecord::MIRROR: return PodDigest::State::kMirror;
    default: return PodDigest::State::kUnknown;
  }
}

WorkerDigest::State StateOf(const v1::WorkerRecord& record) {
  using peers::WorkerStanding;
  switch (peers::ComputeWorkerStanding(record)) {
    case WorkerStanding::kSyncing: return WorkerDigest::State::kSyncing;
    case WorkerStanding::kTerminating: return WorkerDigest::State::kTerminating;
    case WorkerStanding::kTerminated: return WorkerDigest::State::kTerminated;
    case WorkerStanding::kFinished: return WorkerDigest::State::kFinished;
    case WorkerStanding::kAbsent:
    case WorkerStanding::kFound:  // KnownPods keeps no digest of it
    case WorkerStanding::kUnreadable:
    case WorkerStanding::kUnknown: return WorkerDigest::State::kUnknown;
  }
  UNREACHABLE();
}

/// Sandboxes and containers, by id: whether pod-worker has nothing to do for each.
std::map<std::string, bool> PartsOf(const v1::ObservedPod& pod) {
  std::map<std::string, bool> parts;
  for (const auto& sandbox : pod.sandboxes())
    parts["s/" + sandbox.id()] = sandbox.state() == v1::SandboxRecord::READY;
  for (const auto& container : pod.containers())
    parts["c/" + container.id()] = container.state() == v1::ContainerRecord::RUNNING ||
                                   container.state() == v1::ContainerRecord::CREATED;
  return parts;
}

}  // namespace

PodDigest DigestOf(const v1::DesiredRecord& record) {
  PodDigest digest;
  digest.state = StateOf(record);
  digest.uid = record.uid();
  digest.name = record.name();
  digest.name_space = record.namespace_();
  digest.source = record.source();
  digest.is_static = kube::IsStaticSource(record.source());
  digest.incarnation = record.incarnation();
  digest.generation = record.generation();
  digest.order_ms = digest.is_static ? digest.incarnation : record.seen_at_wall_ns() / 1'000'000;
  auto parsed = kube::PodBytes::CheckAndParse(record.pod());
  if (!parsed.ok()) {
    digest.state = PodDigest::State::kUnknown;
    return digest;
  }
  const kube::Pod& pod = *parsed->pod;
  if (!digest.is_static && pod.metadata().has_creation_timestamp())
    digest.order_ms = pod.metadata().creation_timestamp().seconds() * 1000;
  digest.ending = pod.metadata().has_deletion_timestamp();
  digest.terminal = pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed";
  digest.pod = std::move(parsed->bytes);
  return digest;
}

bool IsEdited(const PodDigest& before, const PodDigest& after) {
  return before.state != PodDigest::State::kUnknown && after.state != PodDigest::State::kUnknown &&
         before.incarnation == after.incarnation && before.generation < after.generation;
}

WorkerDigest DigestOf(const v1::WorkerRecord& record) {
  WorkerDigest digest;
  digest.state = StateOf(record);
  digest.uid = record.uid();
  digest.incarnation = record.incarnation();
  digest.generation = record.generation();
  digest.granted = record.granted();
  digest.removed = record.removed();
  digest.refused_generation = record.refused_generation();
  return digest;
}

RuntimeDigest DigestOf(const v1::RuntimeRecord& record) {
  RuntimeDigest digest;
  digest.uid = record.pod().uid();
  digest.name = record.pod().name();
  digest.name_space = record.pod().namespace_();
  digest.inspected = record.inspect_error().empty();
  for (const auto& sandbox : record.pod().sandboxes()) {
    digest.sandboxes.push_back({sandbox.id(), sandbox.node_annotation()});
    if (sandbox.state() == v1::SandboxRecord::READY) digest.running = true;
  }
  for (const auto& container : record.pod().containers()) {
    if (container.state() == v1::ContainerRecord::RUNNING) digest.running = true;
    digest.grace_seconds = std::max(digest.grace_seconds, container.grace_period_seconds());
  }
  return digest;
}

bool MakesWork(const v1::RuntimeRecord* before, const v1::RuntimeRecord& after) {
  const auto then = before == nullptr ? std::map<std::string, bool>{} : PartsOf(before->pod());
  const auto now = PartsOf(after.pod());
  const auto is_alive = [](const std::map<std::string, bool>& parts, const std::string& id) {
    const auto found = parts.find(id);
    return found != parts.end() && found->second;
  };
  const bool ended = std::any_of(then.begin(), then.end(), [&](const auto& part) {
    return part.second && !is_alive(now, part.first);
  });
  return ended || std::any_of(now.begin(), now.end(), [&](const auto& part) {
           return !part.second && !then.contains(part.first);
         });
}

}  // namespace splitlet::sync_loop
