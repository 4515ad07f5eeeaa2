#include <algorithm>
#include <tuple>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/trace.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

StatusOr<Claim> ClaimIn(const PodFacts& facts) {
  kube::Pod pod;
  if (facts.record == nullptr || !pod.ParseFromString(facts.record->pod()))
    return InvalidArgument("its record cannot be understood");
  return ClaimOf(pod);
}

}  // namespace

void SyncLoopService::JudgeSoon(const std::string& key) {
  if (pods_.contains(key)) pending_.insert(key);
  if (judge_posted_ || pending_.empty()) return;
  judge_posted_ = true;
  // Later: what comes with the same list is judged together, in its order.
  deps_.loop.Post([this] {
    judge_posted_ = false;
    JudgePending();
  });
}

void SyncLoopService::JudgeAllWaiting() {
  if (waiting_.empty()) return;
  for (const auto& [key, why] : waiting_) pending_.insert(key);
  JudgeSoon(waiting_.begin()->first);
}

std::string SyncLoopService::WhyNotJudging() const {
  if (!book_.was_read()) return "the admissions of this boot are not read";
  if (!deps_.workers.LiveAndComplete()) return "pod-worker has not told of all its workers";
  return "";
}

void SyncLoopService::JudgePending() {
  const std::string why_not = WhyNotJudging();
  const bool any = std::any_of(pending_.begin(), pending_.end(), [this](const std::string& key) {
    const auto it = pods_.find(key);
    return it != pods_.end() && NeedsVerdict(key, it->second);
  });
  // A new pod does not get ahead of older ones that wait.
  if (any)
    for (const auto& [key, why] : waiting_) pending_.insert(key);
  struct Turn {
    bool fresh;  // pods that run are counted first
    int64_t order_ms;
    std::string key;
    auto operator<=>(const Turn&) const = default;
  };
  std::vector<Turn> turns;
  for (const auto& key : std::exchange(pending_, {})) {
    const auto it = pods_.find(key);
    if (it == pods_.end()) continue;
    const WorkerFacts* worker = WorkerOf(key);
    turns.push_back(
        {!(worker != nullptr && worker->granted) && !IsRunning(key), it->second.order_ms, key});
  }
  std::sort(turns.begin(), turns.end());
  if (any && why_not.empty()) room_ = ComputeRoom();
  for (const Turn& turn : turns) {
    const bool undecided = NeedsVerdict(turn.key, pods_.at(turn.key));
    const std::string why = !undecided || why_not.empty() ? Judge(turn.key) : why_not;
    if (why.empty()) {
      waiting_.erase(turn.key);
      mismatch_.erase(turn.key);
    } else {
      waiting_[turn.key] = why;
    }
  }
}

bool SyncLoopService::NeedsVerdict(const std::string& key, const PodFacts& facts) const {
  if (facts.state != PodFacts::State::kWanted) return false;
  const WorkerFacts* worker = WorkerOf(key);
  const bool known = worker != nullptr && worker->incarnation == facts.incarnation;
  const bool granted = known && worker->granted;
  if ((facts.ending || facts.terminal) && !granted) return false;
  // Its worker ended it without any grant: there is nothing left to judge.
  if (known && !granted && worker->state != WorkerFacts::State::kSyncing) return false;
  const auto* entry = book_.Find(key);
  if (entry == nullptr || entry->incarnation() < facts.incarnation) return true;
  if (entry->incarnation() != facts.incarnation) return false;
  return entry->waiting() || (entry->rejected() && entry->earlier && facts.is_static);
}

bool SyncLoopService::IsSourceKnown(const PodFacts& facts) {
  if (known_sources_.contains(facts.source)) return true;
  const Clock::Time now = deps_.clock.Now();
  const Clock::Time since = sources_.emplace(facts.source, now).first->second;
  if (!deps_.desired.IsComplete(facts.source) && now - since < kSourceWait) {
    rejudge_.Add(std::string(kAllKeys), kSourceWait - (now - since));
    return false;
  }
  sources_.erase(facts.source);
  known_sources_.insert(facts.source);
  return true;
}

std::string SyncLoopService::WhyWaits(const std::string& key, const PodFacts& facts) {
  if (book_.IsUnreadable(key)) return "the file of its admission cannot be used";
  const WorkerFacts* worker = WorkerOf(key);
  if (worker != nullptr && worker->state == WorkerFacts::State::kUnknown)
    return "the record of its worker cannot be understood";
  if (worker != nullptr && worker->incarnation < facts.incarnation &&
      worker->state != WorkerFacts::State::kFinished) {
    if (const auto claim = ClaimIn(facts); claim.ok()) Await(key, *claim);
    return "an earlier life of the pod has not ended";
  }
  const bool begun = worker != nullptr && worker->incarnation == facts.incarnation;
  if (!begun && !IsRunning(key) && !IsSourceKnown(facts))
    return fmt::format("the other pods of source {} are not known yet", facts.source);
  return "";
}

std::string SyncLoopService::Judge(const std::string& key) {
  const PodFacts& facts = pods_.at(key);
  if (!NeedsVerdict(key, facts)) return "";
  if (std::string why = WhyWaits(key, facts); !why.empty()) return why;
  const WorkerFacts* worker = WorkerOf(key);
  if (worker != nullptr && worker->incarnation == facts.incarnation && worker->granted) {
    // Granted in this boot, and the file is gone: it runs, so it is admitted.
    const auto claim = ClaimIn(facts);
    if (!claim.ok()) return ToString(claim.status());
    Decide(key, facts, {.claim = *claim});
    return "";
  }
  return JudgeByNode(key, facts);
}

std::vector<std::string> SyncLoopService::Pressure() const {
  const auto record = deps_.pressure.Find("node");
  const bool known = deps_.pressure.live() && record != nullptr &&
                     record->observed_at().boot() == deps_.clock.Now().boot;
  if (!known) return {};
  std::vector<std::string> conditions(record->conditions().begin(), record->conditions().end());
  std::sort(conditions.begin(), conditions.end());
  return conditions;
}

std::string SyncLoopService::JudgeByNode(const std::string& key, const PodFacts& facts) {
  if (!node_ && !facts.is_static) return "the node's record is not known";
  if (!node_ && deps_.clock.Now() - started_ < kNodeWait)
    return "the node's record is not known yet";
  kube::Pod pod;
  if (!pod.ParseFromString(facts.record->pod())) return "its record cannot be understood";
  const auto claim = ClaimOf(pod);
  if (!claim.ok()) return ToString(claim.status());
  if (AsksForAbilities(pod) && !(node_ && node_->abilities.known))
    return "what the runtime can enforce is not known yet";
  const auto pressure = Pressure();
  // A static pod is held up by nobody who waits only.
  const NodeLoad load = facts.is_static ? room_.held : WithAwaited(room_.held, room_);
  const AdmissionInput input{.pod = pod,
                             .claim = *claim,
                             .node = node_ ? &*node_ : nullptr,
                             .pressure = pressure,
                             .load = load,
                             .sysctls = sysctls_,
                             .node_name = config_.node_name,
                             .max_pods = config_.max_pods};
  Decision decision{.refusal = FindRefusal(input), .claim = *claim};
  if (decision.refusal) {
    const bool lacks_room = decision.refusal->ground == Refusal::Ground::kResources;
    if (std::string why = WhyRefusalWaits(key, *decision.refusal); !why.empty()) {
      if (lacks_room) Await(key, *claim);
      return why;
    }
    if (lacks_room) return JudgeWithoutRoom(key, facts, input, decision);
  }
  Decide(key, facts, decision);
  return "";
}

std::string SyncLoopService::WhyRefusalWaits(const std::string& key, const Refusal& refusal) {
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
  const Clock::Time now = deps_.clock.Now();
  const Clock::Time since = mismatch_.emplace(key, now).first->second;
  if (now - since < kLabelsWait) {
    rejudge_.Add(key, kLabelsWait - (now - since));
    return fmt::format("{}, but the node's record may be old", refusal.reason);
  }
  return deps_.podstatus.live() ? ""
                                : fmt::format("{}, but the node's record is old", refusal.reason);
}

void SyncLoopService::Decide(const std::string& key, const PodFacts& facts,
                             const Decision& decision) {
  const auto& refusal = decision.refusal;
  v1::AdmissionFact fact;
  auto& record = *fact.mutable_record();
  record.set_uid(facts.uid);
  record.set_name(facts.name);
  record.set_namespace_(facts.name_space);
  record.set_incarnation(facts.incarnation);
  record.set_generation(facts.generation);
  const Clock::Time now = deps_.clock.Now();
  record.mutable_decided_at()->set_boot(now.boot);
  record.mutable_decided_at()->set_monotonic_ns(now.monotonic.count());
  record.set_decided_at_wall_ns(ToNanos(deps_.clock.WallNow()));
  record.set_verdict(!refusal         ? v1::AdmissionRecord::ADMITTED
                     : decision.waits ? v1::AdmissionRecord::WAITING
                                      : v1::AdmissionRecord::REJECTED);
  const std::string pod = kube::PodKey(facts.name_space, facts.name);
  const LogField trace = KV(kTraceIdField, TraceIdOf(facts.traceparent));
  const auto* earlier = book_.Find(key);
  if (refusal) {
    record.set_reason(refusal->reason);
    record.set_message(refusal->message);
    if (!decision.waits)
      metrics_.rejections.Add({{"reason", ReasonLabel(refusal->reason)}}).Increment();
    deps_.log.Info(decision.waits ? "pod waits for room" : "pod rejected",
                   {KV("pod", pod), KV("podUID", facts.uid), KV("reason", refusal->reason),
                    KV("message", refusal->message), trace});
  } else {
    fact.set_pod(facts.record->pod());
    if (earlier != nullptr && earlier->incarnation() < facts.incarnation)
      metrics_.restarted_pods.Add({{"static", facts.is_static ? "true" : ""}}).Increment();
    deps_.log.Info("pod admitted", {KV("pod", pod), KV("podUID", facts.uid),
                                    KV("incarnation", facts.incarnation), trace});
  }
  for (const ActivePod& victim : decision.victims) {
    auto& recorded = *fact.add_victims();
    recorded.set_key(victim.key);
    recorded.set_incarnation(victim.incarnation);
  }
  if (!refusal) {
    room_.held.Set(key, decision.claim);
    room_.later.Set(key, decision.claim);
  }
  book_.Decide(key, std::move(fact), decision.claim, facts.traceparent);
}

}  // namespace splitlet::sync_loop
