#include "services/sync-loop/admission/pod_admitter.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/trace.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

/// For the queue of waits: no pod has this key.
constexpr std::string_view kAllKeys = "(all)";

StatusOr<PodRequests> RequestsIn(const PodDigest& digest) {
  kube::Pod pod;
  if (digest.record == nullptr || !pod.ParseFromString(digest.record->pod()))
    return InvalidArgument("its record cannot be understood");
  return RequestsOf(pod);
}

bool LacksRoom(const std::optional<Refusal>& refusal) {
  return refusal && refusal->ground == Refusal::Ground::kResources;
}

std::vector<std::string> ConditionsOf(const v1::PressureRecord* record) {
  if (record == nullptr) return {};
  std::vector<std::string> conditions(record->conditions().begin(), record->conditions().end());
  std::sort(conditions.begin(), conditions.end());
  return conditions;
}

/// Label of the metric, from a closed set.
std::string SignalOf(const std::string& resource) {
  for (const char* known : {"cpu", "memory", "ephemeral-storage", "pods"}) {
    if (resource == known) return resource;
  }
  return "other";
}

/// The scope of `desired` that says whether its pod is still wanted; of a pod that was refused,
/// all.
std::string SourceOf(const AdmissionStore::Entry& entry) {
  kube::Pod pod;
  if (entry.fact.pod().empty() || !pod.ParseFromString(entry.fact.pod()))
    return std::string(bus::kAll);
  const auto& annotations = pod.metadata().annotations();
  const auto source = annotations.find(std::string(kube::kConfigSource));
  return source == annotations.end() ? std::string(bus::kAll) : source->second;
}

}  // namespace

PodAdmitter::PodAdmitter(const Deps& deps, const SyncLoopConfig& config)
    : deps_(deps),
      sysctls_(config.kernel_release, config.allowed_unsafe_sysctls),
      node_name_(config.node_name),
      max_pods_(config.max_pods),
      pod_resources_(config.pod_resources),
      offline_start_(config.offline_start),
      room_({deps_.known, deps_.store, deps_.victims, deps_.grants}),
      waits_(deps.loop, deps.clock, [this](const std::string& key) { OnWaitOver(key); }) {}

void PodAdmitter::Start() {
  started_ = deps_.clock.Now();
  // Static pods wait no longer for the node's record.
  waits_.Add(std::string(kAllKeys), kNodeWait);
}

void PodAdmitter::DecideSoon(const std::string& key) {
  if (deps_.known.Pod(key) != nullptr) pending_.insert(key);
  if (turn_posted_ || pending_.empty()) return;
  turn_posted_ = true;
  // Later: what comes with the same list is decided together, in its order.
  deps_.loop.Post([this] {
    turn_posted_ = false;
    DecidePending();
  });
}

void PodAdmitter::DecideAllWaiting() {
  if (waiting_.empty()) return;
  for (const auto& [key, waiting] : waiting_) pending_.insert(key);
  DecideSoon(waiting_.begin()->first);
}

void PodAdmitter::OnNodeChanged() {
  const auto record = deps_.podstatus.Find(bus::kNodeKey);
  if (record != nullptr && record->has_node()) node_ = ReadNode(record->node());
  DecideAllWaiting();
}

void PodAdmitter::OnDevices(const v1::WorkerRecord* record) {
  devices_.clear();
  if (record != nullptr)
    for (const auto& device : record->node().devices())
      devices_.emplace(device.name(), device.allocatable());
  DecideAllWaiting();
}

void PodAdmitter::OnDesired(const std::string& key) {
  removed_.erase(key);
  DecideSoon(key);
  // An admission that was not granted yet holds nothing any more.
  if (deps_.known.Pod(key)->state != PodDigest::State::kWanted) DecideAllWaiting();
}

void PodAdmitter::OnEdited(const std::string& key, const v1::DesiredRecord& before,
                           const v1::DesiredRecord& after) {
  const auto* entry = deps_.store.Find(key);
  if (entry == nullptr || !entry->admitted() || entry->incarnation() != after.incarnation()) return;
  kube::Pod was, is;
  if (!was.ParseFromString(before.pod()) || !is.ParseFromString(after.pod())) return;
  const std::string lack = LackAfterEdit(was.spec(), is.spec());
  if (lack.empty()) return;
  deps_.events.Record({.warning = true,
                       .reason = "FailedNodeDeclaredFeaturesCheck",
                       .message = lack,
                       .name_space = after.namespace_(),
                       .name = after.name(),
                       .uid = after.uid()});
}

void PodAdmitter::OnDesiredGone(const std::string& key) {
  waiting_.erase(key);
  removed_.insert(key);  // its admission goes with the next tick, when the worker has finished
  DecideAllWaiting();
}

void PodAdmitter::OnSaved(const std::string& key) {
  const auto* entry = deps_.store.Find(key);
  if (entry->admitted() || entry->announced || deps_.known.Pod(key) == nullptr) return;
  const auto& record = entry->fact.record();
  deps_.events.Record({.warning = true,
                       .reason = record.reason(),
                       .message = record.message(),
                       .name_space = record.namespace_(),
                       .name = record.name(),
                       .uid = record.uid()});
}

void PodAdmitter::OnWaitOver(const std::string& key) {
  if (key == kAllKeys) {
    DecideAllWaiting();
  } else {
    DecideSoon(key);
  }
}

std::string PodAdmitter::WhyNotDeciding() const {
  if (!deps_.store.was_read()) return "the admissions of this boot are not read";
  if (!deps_.workers.LiveAndComplete()) return "pod-worker has not told of all its workers";
  return "";
}

std::string PodAdmitter::WaitingReason() const {
  return waiting_.empty() ? "" : waiting_.begin()->second.why;
}

bool PodAdmitter::HoldsRoom(const std::string& key) const {
  return StandingOf(LoadOfNode(), key).counts;
}

void PodAdmitter::DecidePending() {
  const std::string why_not = WhyNotDeciding();
  const bool any = std::any_of(pending_.begin(), pending_.end(), [this](const std::string& key) {
    const PodDigest* pod = deps_.known.Pod(key);
    return pod != nullptr && NeedsDecision(key, *pod);
  });
  // A new pod does not get ahead of older ones that wait.
  if (any)
    for (const auto& [key, waiting] : waiting_) pending_.insert(key);
  const std::vector<std::string> turn = TakePending();
  if (any && why_not.empty()) room_.BeginTurn();
  for (const std::string& key : turn) {
    const bool undecided = NeedsDecision(key, *deps_.known.Pod(key));
    std::string why = !undecided || why_not.empty() ? TryDecide(key) : why_not;
    if (why.empty()) {
      waiting_.erase(key);
    } else {
      waiting_[key].why = std::move(why);
    }
  }
}

std::vector<std::string> PodAdmitter::TakePending() {
  struct Turn {
    bool fresh;  // pods that run are counted first
    int64_t order_ms;
    std::string key;
    auto operator<=>(const Turn&) const = default;
  };
  std::vector<Turn> turns;
  for (const auto& key : std::exchange(pending_, {})) {
    const PodDigest* pod = deps_.known.Pod(key);
    if (pod == nullptr) continue;
    const WorkerDigest* worker = deps_.known.Worker(key);
    const bool granted = worker != nullptr && worker->granted;
    turns.push_back({!granted && !deps_.known.IsRunning(key), pod->order_ms, key});
  }
  std::sort(turns.begin(), turns.end());
  std::vector<std::string> keys;
  keys.reserve(turns.size());
  for (Turn& turn : turns) keys.push_back(std::move(turn.key));
  return keys;
}

bool PodAdmitter::NeedsDecision(const std::string& key, const PodDigest& digest) const {
  if (digest.state != PodDigest::State::kWanted) return false;
  const WorkerDigest* worker = deps_.known.Worker(key);
  const bool known = worker != nullptr && worker->incarnation == digest.incarnation;
  const bool granted = known && worker->granted;
  if ((digest.ending || digest.terminal) && !granted) return false;
  // Its worker ended it without any grant: there is nothing left to decide.
  if (known && !granted && worker->state != WorkerDigest::State::kSyncing) return false;
  const auto* entry = deps_.store.Find(key);
  if (entry == nullptr || entry->incarnation() < digest.incarnation) return true;
  if (entry->incarnation() != digest.incarnation) return false;
  return entry->waiting() || (entry->rejected() && entry->earlier && digest.is_static);
}

bool PodAdmitter::IsSourceKnown(const PodDigest& digest) {
  if (known_sources_.contains(digest.source)) return true;
  const Clock::Time now = deps_.clock.Now();
  const Clock::Time since = sources_.emplace(digest.source, now).first->second;
  if (!deps_.desired.IsComplete(digest.source) && now - since < kSourceWait) {
    waits_.Add(std::string(kAllKeys), kSourceWait - (now - since));
    return false;
  }
  sources_.erase(digest.source);
  known_sources_.insert(digest.source);
  return true;
}

std::string PodAdmitter::WhyWaits(const std::string& key, const PodDigest& digest) {
  if (deps_.store.IsUnreadable(key)) return "the file of its admission cannot be used";
  const WorkerDigest* worker = deps_.known.Worker(key);
  if (worker != nullptr && worker->state == WorkerDigest::State::kUnknown)
    return "the record of its worker cannot be understood";
  if (worker != nullptr && worker->incarnation < digest.incarnation &&
      worker->state != WorkerDigest::State::kFinished) {
    if (const auto requests = RequestsIn(digest); requests.ok()) room_.Await(key, *requests);
    return "an earlier life of the pod has not ended";
  }
  const bool begun = worker != nullptr && worker->incarnation == digest.incarnation;
  if (!begun && !deps_.known.IsRunning(key) && !IsSourceKnown(digest))
    return fmt::format("the other pods of source {} are not known yet", digest.source);
  return "";
}

std::string PodAdmitter::TryDecide(const std::string& key) {
  const PodDigest& digest = *deps_.known.Pod(key);
  if (!NeedsDecision(key, digest)) return "";
  if (std::string why = WhyWaits(key, digest); !why.empty()) return why;
  const WorkerDigest* worker = deps_.known.Worker(key);
  if (worker != nullptr && worker->incarnation == digest.incarnation && worker->granted) {
    // Granted in this boot, and the file is gone: it runs, so it is admitted.
    const auto requests = RequestsIn(digest);
    if (!requests.ok()) return ToString(requests.status());
    Decide(key, digest, {.requests = *requests});
    return "";
  }
  return TryDecideByNode(key, digest);
}

std::shared_ptr<const v1::PressureRecord> PodAdmitter::Pressure() const {
  auto record = deps_.pressure.Find(bus::kNodeKey);
  const bool known = deps_.pressure.live() && record != nullptr &&
                     record->observed_at().boot() == deps_.clock.Now().boot;
  return known ? std::move(record) : nullptr;
}

/// A pod of the API server is judged by what the server says of the node. Where such pods may start
/// without the server, config-source has not let them come before it was away for long.
std::string PodAdmitter::WhyNodeUnknown(const PodDigest& digest) const {
  if (digest.is_static) {
    const bool wait = !node_ && deps_.clock.Now() - started_ < kNodeWait;
    return wait ? "the node's record is not known yet" : "";
  }
  if (!node_) return "the node's record is not known";
  return node_->registered || offline_start_ ? "" : "the API server does not have this node yet";
}

std::string PodAdmitter::TryDecideByNode(const std::string& key, const PodDigest& digest) {
  if (std::string why = WhyNodeUnknown(digest); !why.empty()) return why;
  kube::Pod pod;
  if (!pod.ParseFromString(digest.record->pod())) return "its record cannot be understood";
  const auto requests = RequestsOf(pod);
  if (!requests.ok()) return ToString(requests.status());
  if (AsksForAbilities(pod) && !(node_ && node_->abilities.known))
    return "what the runtime can enforce is not known yet";
  const auto pressure = Pressure();
  const auto conditions = ConditionsOf(pressure.get());
  // A static pod is held up by nobody who waits only.
  const Room& room = room_.room();
  std::optional<NodeLoad> with_awaited;
  if (!digest.is_static && !room.awaited.empty()) with_awaited = WithAwaited(room.held, room);
  const NodeLoad& load = with_awaited ? *with_awaited : room.held;
  const AdmissionInput input{.pod = pod,
                             .requests = *requests,
                             .node = node_ ? &*node_ : nullptr,
                             .pressure = conditions,
                             .shutting_down = pressure != nullptr && pressure->shutting_down(),
                             .sysctls = sysctls_,
                             .node_name = node_name_,
                             .max_pods = max_pods_,
                             .devices = &devices_,
                             .pod_resources = pod_resources_};
  Decision decision{.refusal = FindRefusal(input, load), .requests = *requests};
  if (decision.refusal) {
    const bool lacks_room = LacksRoom(decision.refusal);
    if (std::string why = WhyRefusalWaits(key, digest, *decision.refusal); !why.empty()) {
      if (lacks_room) room_.Await(key, *requests);
      return why;
    }
    if (lacks_room) return TryDecideWithoutRoom(key, digest, input, decision);
  }
  Decide(key, digest, decision);
  return "";
}

std::string PodAdmitter::TryDecideWithoutRoom(const std::string& key, const PodDigest& digest,
                                              const AdmissionInput& input, Decision& decision) {
  const bool critical = kube::IsCritical(input.pod);
  const Room& room = room_.room();
  const NodeLoad later = digest.is_static ? WithoutNamesakes(room.held, deps_.known, key)
                         : critical       ? WithAwaited(room.held, room)
                                          : WithAwaited(room.later, room);
  const bool comes = !LacksRoom(FindRefusal(input, later));
  if (!comes && critical && decision.refusal->reason.starts_with("OutOf")) {
    if (std::string why = MakeRoom(input, later, decision); !why.empty()) {
      room_.Await(key, input.requests);
      return why;
    }
  }
  if (!decision.refusal || (!digest.is_static && !comes)) {
    Decide(key, digest, decision);
    return "";
  }
  // What would not fit on an empty node keeps nobody away.
  if (!LacksRoom(FindRefusal(input, NodeLoad()))) room_.Await(key, input.requests);
  const std::string why = fmt::format("{}, until there is room", decision.refusal->reason);
  if (!digest.is_static) return why;
  const auto* entry = deps_.store.Find(key);
  const bool same = entry != nullptr && entry->waiting() &&
                    entry->incarnation() == digest.incarnation &&
                    entry->fact.record().reason() == decision.refusal->reason &&
                    entry->fact.record().message() == decision.refusal->message;
  decision.waits = true;
  if (!same) Decide(key, digest, decision);
  return why;
}

std::string PodAdmitter::MakeRoom(const AdmissionInput& input, const NodeLoad& load,
                                  Decision& decision) {
  // Recorded victims count as freed for their preemptor only, so the next one waits for their end.
  if (deps_.victims.AreEnding()) return "the victims of another pod have not ended";
  const Needs needs = FindNeeds(input, load);
  auto victims = deps_.victims.Choose(needs, input.pod);
  if (!victims) {
    decision.refusal = {Refusal::Ground::kResources, "UnexpectedAdmissionError",
                        NoVictimsMessage(needs)};
    return "";
  }
  decision.refusal.reset();
  decision.victims = std::move(*victims);
  for (const ActivePod& victim : decision.victims) {
    deps_.metrics.preemptions.Add({{"preemption_signal", SignalOf(needs.front().first)}})
        .Increment();
    deps_.log.Info("preempting a pod",
                   {KV("podUID", victim.key), KV("for", kube::PodKey(input.pod)),
                    KV("resource", needs.front().first),
                    KV(kTraceIdField, TraceIdOf(deps_.store.Find(victim.key)->traceparent))});
  }
  return "";
}

std::string PodAdmitter::WhyRefusalWaits(const std::string& key, const PodDigest& digest,
                                         const Refusal& refusal) {
  switch (refusal.ground) {
    case Refusal::Ground::kPod:
    case Refusal::Ground::kPressure: return "";
    case Refusal::Ground::kResources: {
      const bool certain = deps_.desired.live() && deps_.workers.live();
      return certain
                 ? ""
                 : fmt::format("{}, but the pods of this node are not all known", refusal.reason);
    }
    case Refusal::Ground::kNodeLabels: break;
  }
  if (!digest.is_static && !node_->registered)
    return fmt::format("{}, but the API server has not said what the node is", refusal.reason);
  const Clock::Time now = deps_.clock.Now();
  std::optional<Clock::Time>& since = waiting_[key].mismatch_since;
  if (!since) since = now;
  if (now - *since < kLabelsWait) {
    waits_.Add(key, kLabelsWait - (now - *since));
    return fmt::format("{}, but the node's record may be old", refusal.reason);
  }
  return deps_.podstatus.live() ? ""
                                : fmt::format("{}, but the node's record is old", refusal.reason);
}

void PodAdmitter::Decide(const std::string& key, const PodDigest& digest,
                         const Decision& decision) {
  ReportDecision(key, digest, decision);
  if (!decision.refusal) room_.Admit(key, decision.requests);
  deps_.store.Decide(key, MakeFact(digest, decision), decision.requests, digest.traceparent);
  room_.OnChanged(key);
}

v1::SavedAdmission PodAdmitter::MakeFact(const PodDigest& digest, const Decision& decision) const {
  v1::SavedAdmission fact;
  auto& record = *fact.mutable_record();
  record.set_uid(digest.uid);
  record.set_name(digest.name);
  record.set_namespace_(digest.name_space);
  record.set_incarnation(digest.incarnation);
  record.set_generation(digest.generation);
  const Clock::Time now = deps_.clock.Now();
  record.mutable_decided_at()->set_boot(now.boot);
  record.mutable_decided_at()->set_monotonic_ns(now.monotonic.count());
  record.set_decided_at_wall_ns(ToNanos(deps_.clock.WallNow()));
  record.set_decision(!decision.refusal ? v1::AdmissionRecord::ADMITTED
                      : decision.waits  ? v1::AdmissionRecord::WAITING
                                        : v1::AdmissionRecord::REJECTED);
  if (decision.refusal) {
    record.set_reason(decision.refusal->reason);
    record.set_message(decision.refusal->message);
  } else {
    fact.set_pod(digest.record->pod());
  }
  for (const ActivePod& victim : decision.victims) {
    auto& recorded = *fact.add_victims();
    recorded.set_key(victim.key);
    recorded.set_incarnation(victim.incarnation);
  }
  return fact;
}

void PodAdmitter::ReportDecision(const std::string& key, const PodDigest& digest,
                                 const Decision& decision) {
  const std::string pod = kube::PodKey(digest.name_space, digest.name);
  const LogField trace = KV(kTraceIdField, TraceIdOf(digest.traceparent));
  if (const auto& refusal = decision.refusal; refusal) {
    if (!decision.waits)
      deps_.metrics.rejections.Add({{"reason", ReasonLabel(refusal->reason)}}).Increment();
    deps_.log.Info(decision.waits ? "pod waits for room" : "pod rejected",
                   {KV("pod", pod), KV("podUID", digest.uid), KV("reason", refusal->reason),
                    KV("message", refusal->message), trace});
    return;
  }
  const auto* earlier = deps_.store.Find(key);
  if (earlier != nullptr && earlier->incarnation() < digest.incarnation)
    deps_.metrics.restarted_pods.Add({{"static", digest.is_static ? "true" : ""}}).Increment();
  deps_.log.Info("pod admitted", {KV("pod", pod), KV("podUID", digest.uid),
                                  KV("incarnation", digest.incarnation), trace});
}

bool PodAdmitter::IsOver(const std::string& key) const {
  if (deps_.desired.Contains(key)) return false;
  const WorkerDigest* worker = deps_.known.Worker(key);
  return worker == nullptr || worker->state == WorkerDigest::State::kFinished;
}

void PodAdmitter::CheckRoom() {
  if (!room_.Check()) deps_.log.Error("the room of the node was not what its pods hold", {});
}

void PodAdmitter::ForgetOldAdmissions() {
  const bool known =
      deps_.desired.live() && deps_.workers.LiveAndComplete() && deps_.store.was_read();
  if (!known) return;
  std::vector<std::string> old;
  for (const auto& [key, entry] : deps_.store.entries()) {
    if (!IsOver(key)) continue;  // before its pod is parsed: nearly all are wanted
    const WorkerDigest* worker = deps_.known.Worker(key);
    const bool removed = removed_.contains(key) || (worker != nullptr && worker->removed &&
                                                    entry.incarnation() <= worker->incarnation);
    if (removed || deps_.desired.IsComplete(SourceOf(entry))) old.push_back(key);
  }
  for (const auto& key : deps_.store.Broken()) {
    if (deps_.desired.IsComplete() && IsOver(key)) old.push_back(key);
  }
  for (const auto& key : old) {
    deps_.store.Forget(key);
    deps_.victims.Forget(key);
    room_.OnChanged(key);
  }
  std::erase_if(removed_,
                [this](const std::string& key) { return deps_.store.Find(key) == nullptr; });
}

}  // namespace splitlet::sync_loop
