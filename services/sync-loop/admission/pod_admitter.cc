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

std::vector<std::string> ConditionsOf(const v1::PressureRecord* record) {
  if (record == nullptr) return {};
  std::vector<std::string> conditions(record->conditions().begin(), record->conditions().end());
  std::sort(conditions.begin(), conditions.end());
  return conditions;
}

/// Value of the metric's label, from a closed set.
std::string SignalOf(const std::string& resource) {
  for (const char* known : {"cpu", "memory", "ephemeral-storage", "pods"}) {
    if (resource == known) return resource;
  }
  return "other";
}

/// The scope of `desired` that has to be complete before the pod is known to be gone. A refused pod
/// is saved without its source: all scopes.
std::string SourceOf(const AdmissionStore::Entry& entry) {
  const kube::Pod pod = entry.pod.Parse();
  const auto& annotations = pod.metadata().annotations();
  const auto source = annotations.find(std::string(kube::kConfigSource));
  return source == annotations.end() ? std::string(bus::kAll) : source->second;
}

v1::AdmissionRecord::Decision ToProto(Decision::Outcome outcome) {
  switch (outcome) {
    case Decision::Outcome::kAdmitted: return v1::AdmissionRecord::ADMITTED;
    case Decision::Outcome::kRejected: return v1::AdmissionRecord::REJECTED;
    case Decision::Outcome::kWaiting: return v1::AdmissionRecord::WAITING;
    case Decision::Outcome::kUndecided: return v1::AdmissionRecord::DECISION_UNSPECIFIED;
  }
  UNREACHABLE();
}

}  // namespace

PodAdmitter::PodAdmitter(const Deps& deps, const SyncLoopConfig& config)
    : deps_(deps),
      settings_({.sysctls = {config.kernel_release, config.allowed_unsafe_sysctls},
                 .node_name = config.node_name,
                 .max_pods = config.max_pods,
                 .pod_resources = config.pod_resources,
                 .offline_start = config.offline_start}),
      allocated_(AllocationOf()),
      waits_(deps.env.loop, deps.env.clock, [this](const std::string& key) { OnWaitOver(key); }) {}

void PodAdmitter::Start() {
  started_ = deps_.env.clock.Now();
  // From then on static pods are decided without the node's record.
  waits_.Add(std::string(kAllKeys), kNodeWait);
}

void PodAdmitter::DecideSoon(const std::string& key) {
  if (deps_.known.Pod(key) != nullptr) pending_.insert(key);
  if (turn_posted_ || pending_.empty()) return;
  turn_posted_ = true;
  // Posted, so that all pods of one list are decided together, in their order.
  deps_.env.loop.Post([this] {
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
  // A pod that is not wanted any more and was not granted holds nothing.
  if (deps_.known.Pod(key)->state != PodDigest::State::kWanted) DecideAllWaiting();
}

void PodAdmitter::OnEdited(const std::string& key, const kube::PodBytes& before) {
  const PodDigest& after = *deps_.known.Pod(key);
  const auto* entry = deps_.store.Find(key);
  if (entry == nullptr || !entry->admitted() || entry->incarnation() != after.incarnation) return;
  const std::string lack = LackAfterEdit(before.Parse().spec(), after.pod.Parse().spec());
  if (lack.empty()) return;
  deps_.events.Record({.warning = true,
                       .reason = "FailedNodeDeclaredFeaturesCheck",
                       .message = lack,
                       .name_space = after.name_space,
                       .name = after.name,
                       .uid = after.uid});
}

void PodAdmitter::OnDesiredGone(const std::string& key) {
  waiting_.erase(key);
  removed_.insert(key);  // ForgetOldAdmissions forgets it once its worker has finished
  DecideAllWaiting();
}

void PodAdmitter::OnSaved(const std::string& key) {
  const auto* entry = deps_.store.Find(key);
  if (entry->admitted() || entry->announced || deps_.known.Pod(key) == nullptr) return;
  const auto& record = entry->admission.record();
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

std::optional<Wait> PodAdmitter::WhyNotDeciding() const {
  if (!deps_.store.was_read()) return Wait{.cause = Wait::Cause::kAdmissionsUnread};
  if (!deps_.workers.LiveAndComplete()) return Wait{.cause = Wait::Cause::kWorkersIncomplete};
  return std::nullopt;
}

std::string PodAdmitter::WaitingReason() const {
  return waiting_.empty() ? "" : TextOf(waiting_.begin()->second.why);
}

bool PodAdmitter::HoldsResources(const std::string& key) const {
  return StandingOf(AllocationOf(), key).counts;
}

void PodAdmitter::DecidePending() {
  const auto why_not = WhyNotDeciding();
  const bool any = std::any_of(pending_.begin(), pending_.end(), [this](const std::string& key) {
    const PodDigest* pod = deps_.known.Pod(key);
    return pod != nullptr && NeedsDecision(InputOf(key, *pod));
  });
  // Older pods that wait are decided before a new one.
  if (any)
    for (const auto& [key, waiting] : waiting_) pending_.insert(key);
  const std::vector<std::string> turn = TakePending();
  if (any && !why_not) allocated_.BeginTurn();
  for (const std::string& key : turn) {
    const PodDigest& digest = *deps_.known.Pod(key);
    const PodInput input = InputOf(key, digest);
    if (!NeedsDecision(input)) {
      waiting_.erase(key);
      continue;
    }
    CarryOut(key, digest, why_not ? Undecided(*why_not) : DecideOne(key, input));
  }
}

std::vector<std::string> PodAdmitter::TakePending() {
  struct Turn {
    bool fresh;  // pods that run come first
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

PodInput PodAdmitter::InputOf(const std::string& key, const PodDigest& digest) const {
  PodInput input{.pod = digest,
                 .worker = deps_.known.Worker(key),
                 .running = deps_.known.IsRunning(key),
                 .unreadable = deps_.store.IsUnreadable(key)};
  if (const auto* entry = deps_.store.Find(key)) {
    input.recorded = &entry->admission.record();
    input.recorded_before = entry->earlier;
  }
  const auto waiting = waiting_.find(key);
  if (waiting != waiting_.end()) input.mismatch_since = waiting->second.mismatch_since;
  return input;
}

bool PodAdmitter::IsSourceKnown(const PodDigest& digest) {
  if (known_sources_.contains(digest.source)) return true;
  const Clock::Time now = deps_.env.clock.Now();
  const Clock::Time since = sources_.emplace(digest.source, now).first->second;
  if (!deps_.desired.IsComplete(digest.source) && now - since < kSourceWait) {
    waits_.Add(std::string(kAllKeys), kSourceWait - (now - since));
    return false;
  }
  sources_.erase(digest.source);
  known_sources_.insert(digest.source);
  return true;
}

Decision PodAdmitter::DecideOne(const std::string& key, const PodInput& input) {
  if (auto decision = DecideByRecords(input)) return *std::move(decision);
  if (NeedsWholeSource(input) && !IsSourceKnown(input.pod))
    return Undecided({Wait::Cause::kSourceIncomplete, input.pod.source});
  return DecideByNodeNow(key, input);
}

std::shared_ptr<const v1::PressureRecord> PodAdmitter::Pressure() const {
  auto record = deps_.pressure.Find(bus::kNodeKey);
  const bool known = deps_.pressure.live() && record != nullptr &&
                     record->observed_at().boot() == deps_.env.clock.Now().boot;
  return known ? std::move(record) : nullptr;
}

Decision PodAdmitter::DecideByNodeNow(const std::string& key, const PodInput& input) const {
  const auto pressure = Pressure();
  const auto conditions = ConditionsOf(pressure.get());
  const Allocation& allocation = allocated_.now();
  const Clock::Time now = deps_.env.clock.Now();
  return DecideByNode(
      input,
      {.settings = settings_,
       .node = node_ ? &*node_ : nullptr,
       .certainty = {.node_awaited = now - started_ < kNodeWait,
                     .node_live = deps_.podstatus.live(),
                     .pods_live = deps_.desired.live() && deps_.workers.live()},
       .pressure = conditions,
       .shutting_down = pressure != nullptr && pressure->shutting_down(),
       .devices = devices_,
       .allocation = allocation,
       .preempting = deps_.victims.AreEnding(),
       .now = now,
       .load_without_namesakes =
           [this, &allocation, &key] {
             return WithoutNamesakes(allocation.held, deps_.known, key);
           },
       .preemptable =
           [this](const kube::Pod& critical) { return deps_.victims.Candidates(critical); }});
}

void PodAdmitter::CarryOut(const std::string& key, const PodDigest& digest,
                           const Decision& decision) {
  if (decision.reserves) allocated_.Reserve(key, decision.requests);
  if (decision.outcome != Decision::Outcome::kUndecided) Save(key, digest, decision);
  if (!decision.wait) {
    waiting_.erase(key);
    return;
  }
  Waiting& waiting = waiting_[key];
  waiting.why = *decision.wait;
  if (decision.mismatch_since) waiting.mismatch_since = decision.mismatch_since;
  if (decision.retry_after) waits_.Add(key, *decision.retry_after);
}

void PodAdmitter::Save(const std::string& key, const PodDigest& digest, const Decision& decision) {
  ReportVictims(digest, decision);
  ReportDecision(key, digest, decision);
  if (decision.outcome == Decision::Outcome::kAdmitted) allocated_.Admit(key, decision.requests);
  deps_.store.Decide(key, {.admission = MakeAdmission(digest, decision),
                           .pod = digest.pod,
                           .requests = decision.requests,
                           .traceparent = digest.traceparent});
  allocated_.OnChanged(key);
}

v1::SavedAdmission PodAdmitter::MakeAdmission(const PodDigest& digest,
                                              const Decision& decision) const {
  v1::SavedAdmission admission;
  auto& record = *admission.mutable_record();
  record.set_uid(digest.uid);
  record.set_name(digest.name);
  record.set_namespace_(digest.name_space);
  record.set_incarnation(digest.incarnation);
  record.set_generation(digest.generation);
  const Clock::Time now = deps_.env.clock.Now();
  record.mutable_decided_at()->set_boot(now.boot);
  record.mutable_decided_at()->set_monotonic_ns(now.monotonic.count());
  record.set_decided_at_wall_ns(ToNanos(deps_.env.clock.WallNow()));
  record.set_decision(ToProto(decision.outcome));
  if (decision.outcome != Decision::Outcome::kAdmitted) {
    record.set_reason(decision.refusal.reason);
    record.set_message(decision.refusal.message);
  }
  for (const ActivePod& victim : decision.victims) {
    auto& recorded = *admission.add_victims();
    recorded.set_key(victim.key);
    recorded.set_incarnation(victim.incarnation);
  }
  return admission;
}

void PodAdmitter::ReportDecision(const std::string& key, const PodDigest& digest,
                                 const Decision& decision) {
  const std::string pod = kube::PodKey(digest.name_space, digest.name);
  const std::string trace = TraceIdOf(digest.traceparent);
  if (decision.outcome != Decision::Outcome::kAdmitted) {
    const Refusal& refusal = decision.refusal;
    const bool waits = decision.outcome == Decision::Outcome::kWaiting;
    if (!waits) deps_.metrics.rejections.Add({{"reason", ReasonLabel(refusal)}}).Increment();
    deps_.env.log.Info(waits ? "pod waits for resources" : "pod rejected",
                       {KV("pod", pod), KV("podUID", digest.uid), KV("reason", refusal.reason),
                        KV("message", refusal.message), KV(kTraceIdField, trace)});
    return;
  }
  const auto* earlier = deps_.store.Find(key);
  if (earlier != nullptr && earlier->incarnation() < digest.incarnation)
    deps_.metrics.restarted_pods.Add({{"static", digest.is_static ? "true" : ""}}).Increment();
  deps_.env.log.Info("pod admitted",
                     {KV("pod", pod), KV("podUID", digest.uid),
                      KV("incarnation", digest.incarnation), KV(kTraceIdField, trace)});
}

void PodAdmitter::ReportVictims(const PodDigest& preemptor, const Decision& decision) {
  for (const ActivePod& victim : decision.victims) {
    deps_.metrics.preemptions.Add({{"preemption_signal", SignalOf(decision.lacking)}}).Increment();
    deps_.env.log.Info(
        "preempting pod",
        {KV("podUID", victim.key), KV("for", kube::PodKey(preemptor.name_space, preemptor.name)),
         KV("resource", decision.lacking),
         KV(kTraceIdField, TraceIdOf(deps_.store.Find(victim.key)->traceparent))});
  }
}

Retention PodAdmitter::RetentionOf(const std::string& key, int64_t incarnation) const {
  return ComputeRetention({.incarnation = incarnation,
                           .desired = deps_.desired.Contains(key),
                           .worker = deps_.known.Worker(key),
                           .seen_removed = removed_.contains(key)});
}

void PodAdmitter::CheckAllocated() {
  if (!allocated_.Check()) deps_.env.log.Error("allocated resources were wrong, recomputed", {});
}

void PodAdmitter::ForgetOldAdmissions() {
  const bool known =
      deps_.desired.live() && deps_.workers.LiveAndComplete() && deps_.store.was_read();
  if (!known) return;
  std::vector<std::string> old;
  for (const auto& [key, entry] : deps_.store.entries()) {
    const Retention retention = RetentionOf(key, entry.incarnation());
    if (retention == Retention::kKeep) continue;  // first, since SourceOf parses the pod
    if (retention == Retention::kForget || deps_.desired.IsComplete(SourceOf(entry)))
      old.push_back(key);
  }
  for (const auto& key : deps_.store.Broken()) {
    const bool over = RetentionOf(key, /*incarnation=*/0) != Retention::kKeep;
    if (over && deps_.desired.IsComplete()) old.push_back(key);
  }
  for (const auto& key : old) {
    deps_.store.Forget(key);
    deps_.victims.Forget(key);
    allocated_.OnChanged(key);
  }
  std::erase_if(removed_,
                [this](const std::string& key) { return deps_.store.Find(key) == nullptr; });
}

}  // namespace splitlet::sync_loop
