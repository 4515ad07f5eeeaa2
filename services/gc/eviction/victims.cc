#include "services/gc/eviction/victims.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "libs/base/fail_point.h"
#include "services/gc/eviction/message.h"
#include "services/gc/pod_kill.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::gc {
namespace {

constexpr const char* kVictimStrand = "eviction.victims";
constexpr Duration kLeastKillWait = std::chrono::seconds{10};  // what a kubelet waits at least

v1::KillPodRequest RequestOf(const PreemptionVictim& victim) {
  v1::KillPodRequest request;
  request.set_uid(victim.uid);
  request.set_incarnation(victim.incarnation);
  // The same for every try of this start and every later one: the answer is the same too.
  request.set_request_id(fmt::format("gc/evict/{}/{}", victim.uid, victim.incarnation));
  request.set_reason(std::string(kEvicted));
  request.set_message(victim.message);
  request.set_evict(true);
  request.set_own_limit(victim.own_limit);
  request.set_has_grace(true);
  request.set_grace_period_seconds(victim.grace_seconds);
  return request;
}

Status SaveVictim(const fs::RecordStore& facts, const PreemptionVictim& victim) {
  FAIL_POINT("gc.choose-victim.before");
  RETURN_IF_ERROR(facts.Save(bus::KeyOf(victim.uid), EncodeVictim(victim), false), "save");
  FAIL_POINT("gc.choose-victim.after");
  return OkStatus();
}

Status KillVictim(peers::KillClient& pod_worker, const PreemptionVictim& victim,
                  const Deadline& deadline) {
  FAIL_POINT("gc.evict.before");
  RETURN_IF_ERROR(pod_worker.KillPod(RequestOf(victim), deadline, ""), "pod-worker");
  FAIL_POINT("gc.evict.after");
  return OkStatus();
}

}  // namespace

/// The request, and before it what pod-worker does not need.
std::string EncodeVictim(const PreemptionVictim& victim) {
  std::string words = fmt::format("{} {} {} {}", victim.chosen_at.monotonic.count(), victim.signal,
                                  victim.name_space, victim.name);
  for (const auto& [name, value] : victim.annotations) words += fmt::format(" {}={}", name, value);
  return words + "\n" + RequestOf(victim).SerializeAsString();
}

StatusOr<PreemptionVictim> DecodeVictim(const std::string& bytes, uint64_t boot) {
  const auto end = bytes.find('\n');
  v1::KillPodRequest request;
  if (end == std::string::npos || !request.ParseFromString(bytes.substr(end + 1)))
    return DataLoss("it is no victim");
  std::vector<std::string> words;
  for (size_t at = 0; at < end;) {
    const size_t space = std::min(bytes.find(' ', at), end);
    words.push_back(bytes.substr(at, space - at));
    at = space + 1;
  }
  if (words.size() < 4) return DataLoss("it has {} words", words.size());
  PreemptionVictim victim{.uid = request.uid(),
                          .name_space = words[2],
                          .name = words[3],
                          .incarnation = request.incarnation(),
                          .signal = words[1],
                          .message = request.message(),
                          .grace_seconds = request.grace_period_seconds(),
                          .own_limit = request.own_limit(),
                          .chosen_at = {}};
  int64_t ns = 0;
  const auto [rest, error] =
      std::from_chars(words[0].data(), words[0].data() + words[0].size(), ns);
  if (error != std::errc() || *rest != '\0') return DataLoss("its time cannot be read");
  victim.chosen_at = {boot, Duration{ns}};
  for (size_t i = 4; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) return DataLoss("it has an annotation without a value");
    victim.annotations[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return victim;
}

Victims::Victims(Deps deps, const GcConfig& config)
    : deps_(std::move(deps)),
      facts_(deps_.files, deps_.clock, {.directory = config.victims_dir, .this_boot_only = true}) {}

void Victims::Start() {
  deps_.strands.Run(kVictimStrand, [this] {
    auto facts = facts_.ReadAll();
    deps_.loop.Post([this, facts = std::move(facts)] { OnRead(facts); });
  });
}

void Victims::OnRead(const StatusOr<fs::RecordStore::All>& facts) {
  if (!facts.ok()) {
    if (!std::exchange(told_unread_, true))
      deps_.log.Error("victims in flight cannot be read; no other is chosen",
                      {KV("err", facts.status())});
    deps_.loop.RunAfter(kKillRetry, [this] { Start(); });
    return;
  }
  for (const auto& bad : facts->unreadable)
    deps_.log.Error("a victim in flight cannot be read",
                    {KV("file", bad.key), KV("err", bad.reason)});
  read_ = true;
  for (const auto& fact : facts->records) {
    auto victim = DecodeVictim(fact.bytes, deps_.clock.Now().boot);
    if (!victim.ok()) {
      deps_.log.Error("a victim in flight cannot be read",
                      {KV("file", fact.key), KV("err", victim.status())});
      continue;
    }
    const std::string uid = victim->uid;
    if (deps_.clock.Now() - victim->chosen_at >= kCleanupWait) {
      Forget(uid);  // the node is another one by now
      continue;
    }
    victims_[uid] = {*std::move(victim), false};
    WaitFor(uid);
    Kill(uid);
  }
  if (victims_.empty()) deps_.on_none();
}

void Victims::Add(PreemptionVictim victim) {
  CHECK(deps_.loop.IsCurrent());
  const std::string uid = victim.uid;
  victim.chosen_at = deps_.clock.Now();
  victims_[uid] = {std::move(victim), false};
  WaitFor(uid);
  Save(uid);
}

void Victims::Save(const std::string& uid) {
  deps_.strands.Run(kVictimStrand, [this, uid, victim = victims_.at(uid).victim] {
    const Status saved = SaveVictim(facts_, victim);
    deps_.loop.Post([this, uid, saved] {
      if (!victims_.contains(uid)) return;
      if (saved.ok()) return Kill(uid);
      deps_.log.Error("a victim cannot be saved; its pod stays",
                      {KV("podUID", uid), KV("err", saved)});
      Drop(uid, Then::kWait);
    });
  });
}

void Victims::Kill(const std::string& uid) {
  const auto flight = victims_.find(uid);
  if (flight == victims_.end() || flight->second.accepted) return;
  deps_.strands.Run(kVictimStrand, [this, uid, victim = flight->second.victim] {
    const Status killed = KillVictim(deps_.pod_worker, victim, After(deps_.clock, kKillLimit));
    deps_.loop.Post([this, uid, killed] { OnKilled(uid, killed); });
  });
}

void Victims::OnKilled(const std::string& uid, const Status& status) {
  const auto flight = victims_.find(uid);
  if (flight == victims_.end()) return;
  const PreemptionVictim& victim = flight->second.victim;
  if (IsKillRefused(status)) {
    deps_.log.Warn("a victim is not evicted: pod-worker refuses",
                   {KV("podUID", uid), KV("err", status)});
    return Drop(uid, Then::kWait);
  }
  if (!status.ok()) {
    deps_.log.Warn("a victim could not be evicted yet", {KV("podUID", uid), KV("err", status)});
    deps_.loop.RunAfter(kKillRetry, [this, uid] { Kill(uid); });
    return;
  }
  flight->second.accepted = true;
  deps_.log.Info("pod evicted",
                 {KV("pod", victim.name_space + "/" + victim.name), KV("podUID", uid),
                  KV("signal", victim.signal), KV("reason", victim.message)});
  deps_.metrics.evictions.Add({{"eviction_signal", victim.signal}}).Increment();
  deps_.events.Record({.warning = true,
                       .reason = std::string(kEvicted),
                       .message = victim.message,
                       .name_space = victim.name_space,
                       .name = victim.name,
                       .uid = uid,
                       .annotations = victim.annotations});
  TellLate(victim);
  OnWorkers();
}

void Victims::OnWorkers() {
  std::vector<std::string> gone;
  for (const auto& [uid, flight] : victims_)
    if (flight.accepted && deps_.pods.IsGone(uid, flight.victim.incarnation)) gone.push_back(uid);
  for (const auto& uid : gone) Drop(uid, Then::kLookAgain);
}

void Victims::TellLate(const PreemptionVictim& victim) {
  const Duration wait =
      std::max<Duration>(kLeastKillWait, std::chrono::seconds(victim.grace_seconds) * 3 / 2);
  deps_.loop.RunAfter(wait, [this, victim] {
    if (!deps_.pods.HasContainers(victim.uid, victim.incarnation)) return;
    deps_.events.Record(
        {.warning = true,
         .reason = "ExceededGracePeriod",
         .message = "Container runtime did not kill the pod within specified grace period.",
         .name_space = victim.name_space,
         .name = victim.name,
         .uid = victim.uid});
  });
}

/// From when it was chosen, whoever died since.
void Victims::WaitFor(const std::string& uid) {
  const PreemptionVictim& victim = victims_.at(uid).victim;
  const Duration age = std::max(Duration{0}, deps_.clock.Now() - victim.chosen_at);
  deps_.loop.RunAfter(
      std::max(Duration{0}, kCleanupWait - age), [this, uid, incarnation = victim.incarnation] {
        const auto flight = victims_.find(uid);
        if (flight == victims_.end() || flight->second.victim.incarnation != incarnation) return;
        deps_.log.Warn("a victim has not ended yet; the next may be chosen", {KV("podUID", uid)});
        Drop(uid, Then::kLookAgain);
      });
}

void Victims::Drop(const std::string& uid, Then then) {
  victims_.erase(uid);
  Forget(uid);
  if (victims_.empty() && then == Then::kLookAgain) deps_.on_none();
}

void Victims::Forget(const std::string& uid) {
  deps_.strands.Run(kVictimStrand, [this, uid] {
    const Status forgotten = facts_.Forget(bus::KeyOf(uid));
    deps_.loop.Post([this, forgotten] { deps_.log.LogIfError(forgotten, "forget a victim"); });
  });
}

}  // namespace splitlet::gc
