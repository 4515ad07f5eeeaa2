#include "services/gc/protect/shutdown/graceful_shutdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/path.h"
#include "libs/fs/unfinished.h"
#include "services/gc/protect/pod_kill.h"
#include "services/gc/protect/shutdown/groups.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::gc {
namespace {

constexpr const char* kFiles = "shutdown.files";
constexpr const char* kProgressRecord = "progress";
constexpr const char* kTimesFile = "/graceful_node_shutdown_state";
constexpr uint64_t kMostTimesBytes = 4096;

constexpr const char* kEvent = "Shutdown";
constexpr const char* kShutdownReason = "Terminated";
constexpr const char* kMessage = "Pod was terminated in response to imminent node shutdown.";

v1::KillPodRequest RequestOf(const Candidate& pod, int64_t group_seconds) {
  v1::KillPodRequest request;
  request.set_uid(pod.uid);
  request.set_incarnation(pod.incarnation);
  // The same id for every attempt of this start and later ones, so that pod-worker gives the same
  // answer.
  request.set_request_id(fmt::format("gc/shutdown/{}/{}", pod.uid, pod.incarnation));
  request.set_reason(kShutdownReason);
  request.set_message(kMessage);
  request.set_evict(true);
  request.set_node_shutdown(true);
  request.set_has_grace(true);
  request.set_grace_period_seconds(ShutdownGrace(*pod.pod, group_seconds));
  return request;
}

Status KillForShutdown(peers::KillClient& pod_worker, const v1::KillPodRequest& request,
                       const Deadline& deadline) {
  FAIL_POINT("gc.end-pod.before");
  RETURN_IF_ERROR(pod_worker.KillPod(request, deadline, ""), "pod-worker");
  FAIL_POINT("gc.end-pod.after");
  return OkStatus();
}

double SecondsOf(const std::optional<WallTime>& time) {
  return time ? static_cast<double>(ToNanos(*time)) / std::nano::den : 0;
}

}  // namespace

GracefulShutdown::GracefulShutdown(const Deps& deps, const GcConfig& config)
    : deps_(deps),
      config_(config),
      groups_(config.shutdown_groups),
      pods_(deps.desired, deps.workers, config),
      records_(deps_.files, deps_.env.clock,
               {.directory = config.shutdown_dir, .this_boot_only = true}),
      watch_({.env = deps_.env,
              .files = deps_.files,
              .source = deps_.source,
              .on_preparing = [this](bool preparing) { OnPreparing(preparing); }},
             std::chrono::seconds{TotalSeconds(config.shutdown_groups)}) {}

void GracefulShutdown::Start() {
  if (groups_.empty()) return deps_.on_read();
  deps_.env.strands.Run(
      kFiles, [this] { deps_.env.loop.Post([this, saved = ReadSaved()] { OnSaved(saved); }); });
}

GracefulShutdown::Saved GracefulShutdown::ReadSaved() const {
  Saved saved;
  for (const std::string& path : {config_.root_dir + kTimesFile, std::string(kLogindDropIn)}) {
    const Status removed = fs::RemoveUnfinished(deps_.files, fs::ParentOf(path), fs::NameOf(path));
    if (!removed.ok()) saved.problems.push_back(Message(removed));
  }
  const auto text = deps_.files.Read(config_.root_dir + kTimesFile, kMostTimesBytes);
  if (text.ok()) {
    const auto times = DecodeTimes(*text);
    if (times.ok()) saved.times = *times;
    if (!times.ok()) saved.problems.push_back(Message(times.status()));
  } else if (text.status().code() != StatusCode::kNotFound) {
    saved.problems.push_back(Message(text.status()));
  }
  const auto records = records_.ReadAll();
  if (!records.ok()) {
    saved.problems.push_back(Message(records.status()));
    return saved;
  }
  for (const auto& bad : records->unreadable) saved.problems.push_back(bad.reason);
  for (const auto& record : records->records) {
    const auto progress = DecodeProgress(record.bytes, deps_.env.clock.Now().boot);
    if (progress.ok()) saved.progress = *progress;
    if (!progress.ok()) saved.problems.push_back(Message(progress.status()));
  }
  return saved;
}

void GracefulShutdown::OnSaved(const Saved& saved) {
  for (const auto& problem : saved.problems)
    deps_.env.log.Error("ignoring saved state of a node shutdown that cannot be read",
                        {KV("err", problem)});
  if (saved.times) times_ = *saved.times;
  ShowTimes();
  if (saved.progress) {
    progress_ = *saved.progress;
    progress_.group = std::min(progress_.group, groups_.size() - 1);
    phase_ = progress_.ended ? Phase::kEnded : Phase::kEnding;
    deps_.env.log.Info("resuming node shutdown", {KV("ended", progress_.ended)});
    deps_.on_change(true);
  }
  deps_.on_read();
  if (phase_ == Phase::kEnded) watch_.Release();
  watch_.Start();
  ArmGroupEnd();
  Advance();
}

void GracefulShutdown::OnPods() { Advance(); }

void GracefulShutdown::OnPreparing(bool preparing) {
  CHECK(deps_.env.loop.IsCurrent());
  if (preparing && phase_ == Phase::kWatching) Begin();
  if (!preparing && phase_ != Phase::kWatching) Cancel();
}

void GracefulShutdown::Begin() {
  phase_ = Phase::kEnding;
  times_ = {.start = deps_.env.clock.WallNow(), .end = std::nullopt};
  ShowTimes();
  deps_.env.log.Info("node shutdown: terminating pods", {KV("seconds", TotalSeconds(groups_))});
  deps_.node_events.Inform(kEvent, "Shutdown manager detected shutdown event");
  deps_.on_change(true);
  BeginGroup(0);
  Advance();
}

void GracefulShutdown::Cancel() {
  phase_ = Phase::kWatching;
  deps_.env.loop.CancelTimer(std::exchange(group_timer_, 0));
  asked_.clear();
  progress_ = {};
  if (!times_.end) times_.end = deps_.env.clock.WallNow();
  ShowTimes();
  deps_.env.log.Info("node shutdown cancelled", {});
  deps_.node_events.Inform(kEvent, "Shutdown manager detected shutdown cancellation");
  deps_.on_change(false);
  Save([] {});
  watch_.TakeAgain();
}

void GracefulShutdown::Advance() {
  // After the last group gc waits for no pod, but late pods must not run either.
  if (phase_ == Phase::kEnded) AskForEnds();
  while (phase_ == Phase::kEnding) {
    AskForEnds();
    if (!GroupIsOver()) return;
    if (progress_.group + 1 == groups_.size()) return End();
    BeginGroup(progress_.group + 1);
  }
}

/// Asks pod-worker to end the pods of the current group, and pods of earlier groups that came late.
void GracefulShutdown::AskForEnds() {
  if (!pods_.known()) return;
  const auto is_new = [this](const std::string& uid, int64_t incarnation) {
    return FindAsked(uid, incarnation) == nullptr;
  };
  for (const auto& pod : pods_.NotEnded(is_new)) {
    if (GroupOf(groups_, PriorityOf(*pod.pod)) > progress_.group) continue;
    Asked& asked = asked_[pod.uid] = {.pod = pod, .group = progress_.group};
    deps_.env.log.Info("terminating pod for node shutdown",
                       {KV("pod", kube::PodKey(*pod.pod)), KV("podUID", pod.uid),
                        KV("gracePeriod", ShutdownGrace(*pod.pod, groups_[asked.group].seconds))});
    Kill(asked);
  }
}

bool GracefulShutdown::GroupIsOver() const {
  if (deps_.env.clock.Now() >= GroupEnd()) return true;
  if (!pods_.known() || pods_.AnyUnread()) return false;  // whether pods are missing is unknown
  return std::ranges::all_of(asked_, [this](const auto& entry) {
    return entry.second.group != progress_.group || IsGone(entry.second);
  });
}

void GracefulShutdown::BeginGroup(size_t group) {
  progress_ = {.group = group, .group_began = deps_.env.clock.Now()};
  Save([] {});
  ArmGroupEnd();
}

void GracefulShutdown::ArmGroupEnd() {
  deps_.env.loop.CancelTimer(std::exchange(group_timer_, 0));
  if (phase_ != Phase::kEnding) return;
  const Duration left = std::max(Duration{0}, GroupEnd() - deps_.env.clock.Now());
  group_timer_ = deps_.env.loop.RunAfter(left, [this] {
    group_timer_ = 0;
    Advance();
  });
}

void GracefulShutdown::End() {
  phase_ = Phase::kEnded;
  deps_.env.loop.CancelTimer(std::exchange(group_timer_, 0));
  progress_.ended = true;
  times_.end = deps_.env.clock.WallNow();
  ShowTimes();
  const size_t left = CountLeft();
  if (left > 0)
    deps_.env.log.Warn("pods did not end in time; letting the node shut down", {KV("pods", left)});
  else
    deps_.env.log.Info("all pods have ended; letting the node shut down", {});
  // Save before the machine may shut down.
  Save([this] {
    if (phase_ == Phase::kEnded) watch_.Release();
  });
}

/// The pods of a group end at the same time.
void GracefulShutdown::Kill(const Asked& asked) {
  deps_.env.strands.Run(
      "shutdown." + asked.pod.uid,
      [this, request = RequestOf(asked.pod, groups_[asked.group].seconds)] {
        const Status killed =
            KillForShutdown(deps_.pod_worker, request, After(deps_.env.clock, kKillLimit));
        deps_.env.loop.Post([this, uid = request.uid(), incarnation = request.incarnation(),
                             killed] { OnKilled(uid, incarnation, killed); });
      });
}

void GracefulShutdown::OnKilled(const std::string& uid, int64_t incarnation, const Status& status) {
  Asked* const asked = FindAsked(uid, incarnation);
  if (asked == nullptr || status.ok()) return;
  asked->refused = IsKillRefused(status);
  if (!std::exchange(asked->logged_error, true))
    deps_.env.log.Warn(asked->refused ? "pod-worker refused to terminate a pod for node shutdown"
                                      : "KillPod for node shutdown failed, will retry",
                       {KV("podUID", uid), KV("err", status)});
  if (asked->refused) return Advance();
  deps_.env.loop.RunAfter(kKillRetry, [this, uid, incarnation] {
    const Asked* const again = FindAsked(uid, incarnation);
    if (phase_ != Phase::kWatching && again != nullptr && !IsGone(*again)) Kill(*again);
  });
}

GracefulShutdown::Asked* GracefulShutdown::FindAsked(const std::string& uid, int64_t incarnation) {
  const auto asked = asked_.find(uid);
  const bool found = asked != asked_.end() && asked->second.pod.incarnation == incarnation;
  return found ? &asked->second : nullptr;
}

bool GracefulShutdown::IsGone(const Asked& asked) const {
  return asked.refused || pods_.IsGone(asked.pod.uid, asked.pod.incarnation);
}

size_t GracefulShutdown::CountLeft() const {
  return static_cast<size_t>(
      std::ranges::count_if(asked_, [this](const auto& entry) { return !IsGone(entry.second); }));
}

/// Writes both files, also when one fails. `progress`: empty when no shutdown is going on.
Status GracefulShutdown::SaveShutdown(const std::string& progress, const std::string& times) const {
  FAIL_POINT("gc.save-shutdown.before");
  const Status saved = progress.empty() ? records_.Forget(kProgressRecord)
                                        : records_.Save(kProgressRecord, progress, false);
  RETURN_IF_ERROR(
      deps_.files.Replace(config_.root_dir + kTimesFile, times, {.fsync = true, .mode = 0644}),
      "write {}{}", config_.root_dir, kTimesFile);
  FAIL_POINT("gc.save-shutdown.after");
  return saved;
}

void GracefulShutdown::Save(std::function<void()> saved) {
  const bool goes_on = phase_ != Phase::kWatching;
  deps_.env.strands.Run(kFiles, [this, goes_on, times = EncodeTimes(times_),
                                 progress = EncodeProgress(progress_), saved = std::move(saved)] {
    const Status status = SaveShutdown(goes_on ? progress : "", times);
    deps_.env.loop.Post([this, status, saved] {
      deps_.env.log.LogIfError(status, "save the progress of a node shutdown");
      saved();
    });
  });
}

void GracefulShutdown::ShowTimes() const {
  deps_.metrics.shutdown_start.Set(SecondsOf(times_.start));
  deps_.metrics.shutdown_end.Set(SecondsOf(times_.end));
}

Clock::Time GracefulShutdown::GroupEnd() const {
  return progress_.group_began + std::chrono::seconds{groups_[progress_.group].seconds};
}

}  // namespace splitlet::gc
