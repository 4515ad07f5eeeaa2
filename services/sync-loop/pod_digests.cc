#include "services/sync-loop/pod_digests.h"

#include <algorithm>
#include <map>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

PodFacts::State StateOf(const v1::DesiredRecord& record) {
  switch (static_cast<int>(record.state())) {  // numbers of later writers are unknown
    case v1::DesiredRecord::WANTED: return PodFacts::State::kWanted;
    case v1::DesiredRecord::UNCONFIRMED: return PodFacts::State::kUnconfirmed;
    case v1::DesiredRecord::REMOVED: return PodFacts::State::kRemoved;
    case v1::DesiredRecord::MIRROR: return PodFacts::State::kMirror;
    default: return PodFacts::State::kUnknown;
  }
}

WorkerFacts::State StateOf(const v1::WorkerRecord& record) {
  switch (static_cast<int>(record.state())) {
    case v1::SYNCING: return WorkerFacts::State::kSyncing;
    case v1::TERMINATING: return WorkerFacts::State::kTerminating;
    case v1::TERMINATED: return WorkerFacts::State::kTerminated;
    case v1::FINISHED: return WorkerFacts::State::kFinished;
    default: return WorkerFacts::State::kUnknown;
  }
}

/// Sandboxes and containers: whether each is as pod-worker wants what it has made.
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

PodFacts ReadPod(std::shared_ptr<const v1::DesiredRecord> record) {
  PodFacts facts;
  facts.state = StateOf(*record);
  facts.uid = record->uid();
  facts.name = record->name();
  facts.name_space = record->namespace_();
  facts.source = record->source();
  facts.is_static = kube::IsStaticSource(record->source());
  facts.incarnation = record->incarnation();
  facts.generation = record->generation();
  facts.order_ms = facts.is_static ? facts.incarnation : record->seen_at_wall_ns() / 1'000'000;
  kube::Pod pod;
  if (!pod.ParseFromString(record->pod())) {
    facts.state = PodFacts::State::kUnknown;
    return facts;
  }
  if (!facts.is_static && pod.metadata().has_creation_timestamp())
    facts.order_ms = pod.metadata().creation_timestamp().seconds() * 1000;
  facts.ending = pod.metadata().has_deletion_timestamp();
  facts.terminal = pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed";
  facts.record = std::move(record);
  return facts;
}

WorkerFacts ReadWorker(const v1::WorkerRecord& record) {
  WorkerFacts facts;
  facts.state = StateOf(record);
  facts.uid = record.uid();
  facts.incarnation = record.incarnation();
  facts.generation = record.generation();
  facts.granted = record.granted();
  for (const auto& probe : record.probes()) {
    if (!probe.success()) facts.probes_wrong.insert(probe.container_id() + " " + probe.kind());
  }
  return facts;
}

RuntimeFacts ReadRuntime(const v1::RuntimeRecord& record) {
  RuntimeFacts facts;
  facts.uid = record.pod().uid();
  facts.name = record.pod().name();
  facts.name_space = record.pod().namespace_();
  facts.looked_at = record.inspect_error().empty();
  for (const auto& sandbox : record.pod().sandboxes()) {
    facts.sandboxes.push_back({sandbox.id(), sandbox.node_annotation()});
    if (sandbox.state() == v1::SandboxRecord::READY) facts.running = true;
  }
  for (const auto& container : record.pod().containers()) {
    if (container.state() == v1::ContainerRecord::RUNNING) facts.running = true;
    facts.grace_seconds = std::max(facts.grace_seconds, container.grace_period_seconds());
  }
  return facts;
}

bool ProbesMakeWork(const std::set<std::string>& before, const std::set<std::string>& after) {
  const auto is_new = [](const std::set<std::string>& known) {
    return [&known](const std::string& probe) { return !known.contains(probe); };
  };
  if (std::any_of(after.begin(), after.end(), is_new(before))) return true;
  return std::any_of(before.begin(), before.end(), [&](const std::string& probe) {
    return !probe.ends_with(" liveness") && !after.contains(probe);
  });
}

bool MakesWork(const v1::RuntimeRecord* before, const v1::RuntimeRecord& after) {
  const auto then = before == nullptr ? std::map<std::string, bool>{} : PartsOf(before->pod());
  const auto now = PartsOf(after.pod());
  const auto lives = [](const std::map<std::string, bool>& parts, const std::string& id) {
    const auto found = parts.find(id);
    return found != parts.end() && found->second;
  };
  const bool ended = std::any_of(then.begin(), then.end(), [&](const auto& part) {
    return part.second && !lives(now, part.first);
  });
  return ended || std::any_of(now.begin(), now.end(), [&](const auto& part) {
           return !part.second && !then.contains(part.first);
         });
}

}  // namespace splitlet::sync_loop
