#include "services/gc/protect/eviction/evictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "libs/base/fail_point.h"
#include "services/gc/protect/eviction/message.h"
#include "services/gc/protect/pod_kill.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::gc {
namespace {

constexpr const char* kEvictionStrand = "evictions";
constexpr Duration kLeastKillWait = std::chrono::seconds{10};  // the least that a kubelet waits

v1::KillPodRequest RequestOf(const PendingEviction& eviction) {
  v1::KillPodRequest request;
  request.set_uid(eviction.uid);
  request.set_incarnation(eviction.incarnation);
  // The same id for every attempt of this start and later ones, so that pod-worker gives the same
  // answer.
  request.set_request_id(fmt::format("gc/evict/{}/{}", eviction.uid, eviction.incarnation));
  request.set_reason(std::string(kEvicted));
  request.set_message(eviction.message);
  request.set_evict(true);
  request.set_own_limit(eviction.own_limit);
  request.set_has_grace(true);
  request.set_grace_period_seconds(eviction.grace_seconds);
  return request;
}

Status SaveEviction(const fs::RecordStore& records, const PendingEviction& eviction) {
  FAIL_POINT("gc.choose-victim.before");
  RETURN_IF_ERROR(records.Save(bus::KeyOf(eviction.uid), EncodeEviction(eviction), false), "save");
  FAIL_POINT("gc.choose-victim.after");
  return OkStatus();
}

Status KillEviction(peers::KillClient& pod_worker, const PendingEviction& eviction,
                    const Deadline& deadline) {
  FAIL_POINT("gc.evict.before");
  RETURN_IF_ERROR(pod_worker.KillPod(RequestOf(eviction), deadline, ""), "pod-worker");
  FAIL_POINT("gc.evict.after");
  return OkStatus();
}

}  // namespace

/// The first line holds what pod-worker does not need; the request follows.
std::string EncodeEviction(const PendingEviction& eviction) {
  std::string words = fmt::format("{} {} {} {}", eviction.chosen_at.monotonic.count(),
                                  eviction.signal, eviction.name_space, eviction.name);
  for (const auto& [name, value] : eviction.annotations)
    words += fmt::format(" {}={}", name, value);
  return words + "\n" + RequestOf(eviction).SerializeAsString();
}

StatusOr<PendingEviction> DecodeEviction(const std::string& bytes, uint64_t boot) {
  const auto end = bytes.find('\n');
  v1::KillPodRequest request;
  if (end == std::string::npos || !request.ParseFromString(bytes.substr(end + 1)))
    return DataLoss("not a saved eviction");
  std::vector<std::string> words;
  for (size_t at = 0; at < end;) {
    const size_t space = std::min(bytes.find(' ', at), end);
    words.push_back(bytes.substr(at, space - at));
    at = space + 1;
  }
  if (words.size() < 4) return DataLoss("{} words instead of at least 4", words.size());
  PendingEviction eviction{.uid = request.uid(),
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
  if (error != std::errc() || *rest != '\0') return DataLoss("the time is not a number");
  eviction.chosen_at = {boot, Duration{ns}};
  for (size_t i = 4; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) return DataLoss("an annotation has no value");
    eviction.annotations[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return eviction;
}

Evictions::Evictions(Deps deps, const GcConfig& config)
    : deps_(std::move(deps)),
      records_(std::make_shared<const fs::RecordStore>(
          deps_.files, deps_.env.clock,
          fs::RecordStore::Options{.directory = config.evictions_dir, .this_boot_only = true})),
      asker_(deps_.env.loop, deps_.env.strands) {}

void Evictions::Start() {
  asker_.Ask(
      kEvictionStrand, [records = records_] { return records->ReadAll(); },
      [this](const StatusOr<fs::RecordStore::All>& records) { OnRead(records); });
}

void Evictions::OnRead(const StatusOr<fs::RecordStore::All>& records) {
  if (!records.ok()) {
    if (read_failure_.IsNews(records.status()))
      deps_.env.log.Error("cannot read saved evictions; eviction is paused, will read again",
                          {KV("err", records.status())});
    asker_.RunAfter(kKillRetry, [this] { Start(); });
    return;
  }
  for (const auto& bad : records->unreadable)
    deps_.env.log.Error("ignoring a saved eviction that cannot be read",
                        {KV("file", bad.key), KV("err", bad.reason)});
  read_ = true;
  for (const auto& record : records->records) {
    auto eviction = DecodeEviction(record.bytes, deps_.env.clock.Now().boot);
    if (!eviction.ok()) {
      deps_.env.log.Error("ignoring a saved eviction that cannot be read",
                          {KV("file", record.key), KV("err", eviction.status())});
      continue;
    }
    const std::string uid = eviction->uid;
    if (deps_.env.clock.Now() - eviction->chosen_at >= kCleanupWait) {
      Forget(uid);  // the state of the node has changed since
      continue;
    }
    evictions_[uid] = {.eviction = *std::move(eviction)};
    WaitFor(uid);
    Kill(uid);
  }
  if (evictions_.empty()) deps_.on_none();
}

void Evictions::Add(PendingEviction eviction) {
  CHECK(deps_.env.loop.IsCurrent());
  const std::string uid = eviction.uid;
  eviction.chosen_at = deps_.env.clock.Now();
  evictions_[uid] = {.eviction = std::move(eviction)};
  WaitFor(uid);
  Save(uid);
}

void Evictions::Save(const std::string& uid) {
  asker_.Ask(
      kEvictionStrand,
      [records = records_, eviction = evictions_.at(uid).eviction] {
        return SaveEviction(*records, eviction);
      },
      [this, uid](const Status& saved) {
        if (!evictions_.contains(uid)) return;
        if (saved.ok()) return Kill(uid);
        deps_.env.log.Error("cannot save an eviction; the pod is not evicted",
                            {KV("podUID", uid), KV("err", saved)});
        Drop(uid, Then::kWait);
      });
}

void Evictions::Kill(const std::string& uid) {
  const auto flight = evictions_.find(uid);
  if (flight == evictions_.end() || flight->second.accepted) return;
  asker_.Ask(
      kEvictionStrand,
      [&pod_worker = deps_.pod_worker, &clock = deps_.env.clock,
       eviction = flight->second.eviction] {
        return KillEviction(pod_worker, eviction, After(clock, kKillLimit));
      },
      [this, uid](const Status& killed) { OnKilled(uid, killed); });
}

void Evictions::OnKilled(const std::string& uid, const Status& status) {
  const auto flight = evictions_.find(uid);
  if (flight == evictions_.end()) return;
  const PendingEviction& eviction = flight->second.eviction;
  if (IsKillRefused(status)) {
    deps_.env.log.Warn("pod-worker refused an eviction; the pod is not evicted",
                       {KV("podUID", uid), KV("err", status)});
    return Drop(uid, Then::kWait);
  }
  if (!status.ok()) {
    deps_.metrics.errors.Add({{"kind", "evict"}}).Increment();
    if (flight->second.failure.IsNews(status))
      deps_.env.log.Warn("KillPod for an eviction failed, will retry",
                         {KV("podUID", uid), KV("err", status)});
    asker_.RunAfter(kKillRetry, [this, uid] { Kill(uid); });
    return;
  }
  flight->second.accepted = true;
  deps_.env.log.Info("pod evicted",
                     {KV("pod", eviction.name_space + "/" + eviction.name), KV("podUID", uid),
                      KV("signal", eviction.signal), KV("reason", eviction.message)});
  deps_.metrics.evictions.Add({{"eviction_signal", eviction.signal}}).Increment();
  deps_.events.Record({.warning = true,
                       .reason = std::string(kEvicted),
                       .message = eviction.message,
                       .name_space = eviction.name_space,
                       .name = eviction.name,
                       .uid = uid,
                       .annotations = eviction.annotations});
  ReportOverdue(eviction);
  OnWorkers();
}

void Evictions::OnWorkers() {
  std::vector<std::string> gone;
  for (const auto& [uid, flight] : evictions_)
    if (flight.accepted && deps_.pods.IsGone(uid, flight.eviction.incarnation)) gone.push_back(uid);
  for (const auto& uid : gone) Drop(uid, Then::kInspectAgain);
}

void Evictions::ReportOverdue(const PendingEviction& eviction) {
  const Duration wait =
      std::max<Duration>(kLeastKillWait, std::chrono::seconds(eviction.grace_seconds) * 3 / 2);
  asker_.RunAfter(wait, [this, eviction] {
    if (!deps_.pods.HasContainers(eviction.uid, eviction.incarnation)) return;
    deps_.events.Record(
        {.warning = true,
         .reason = "ExceededGracePeriod",
         .message = "Container runtime did not kill the pod within specified grace period.",
         .name_space = eviction.name_space,
         .name = eviction.name,
         .uid = eviction.uid});
  });
}

/// Counts from the choice of the pod, also over restarts.
void Evictions::WaitFor(const std::string& uid) {
  const PendingEviction& eviction = evictions_.at(uid).eviction;
  const Duration age = std::max(Duration{0}, deps_.env.clock.Now() - eviction.chosen_at);
  asker_.RunAfter(
      std::max(Duration{0}, kCleanupWait - age), [this, uid, incarnation = eviction.incarnation] {
        const auto flight = evictions_.find(uid);
        if (flight == evictions_.end() || flight->second.eviction.incarnation != incarnation)
          return;
        deps_.env.log.Warn("the evicted pod has not ended yet; another pod may be evicted",
                           {KV("podUID", uid)});
        Drop(uid, Then::kInspectAgain);
      });
}

void Evictions::Drop(const std::string& uid, Then then) {
  evictions_.erase(uid);
  Forget(uid);
  if (evictions_.empty() && then == Then::kInspectAgain) deps_.on_none();
}

void Evictions::Forget(const std::string& uid) {
  asker_.Ask(
      kEvictionStrand, [records = records_, key = bus::KeyOf(uid)] { return records->Forget(key); },
      [this](const Status& forgotten) {
        deps_.env.log.LogIfError(forgotten, "remove a saved eviction");
      });
}

}  // namespace splitlet::gc
