#include "services/gc/protect/shutdown/graceful_shutdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "services/gc/protect/pod_kill.h"
#include "services/gc/protect/shutdown/groups.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::gc {
namespace {

constexpr const char* kFiles = "shutdown.files";

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
      disk_(std::make_shared<const ShutdownDisk>(deps_.files, deps_.env.clock, config)),
      watch_({.env = deps_.env,
              .files = deps_.files,
              .source = deps_.source,
              .metrics = deps_.metrics,
              .on_preparing = [this](bool preparing) { OnPreparing(preparing); }},
             std::chrono::seconds{TotalSeconds(config.shutdown_groups)}),
      asker_(deps_.env.loop, deps_.env.strands) {}

void GracefulShutdown::Start() {
  if (groups_.empty()) return deps_.on_read();
  asker_.Ask(
      kFiles, [disk = disk_] { return disk->Read(); },
      [this](const SavedShutdown& saved) { OnSaved(saved); });
}

void GracefulShutdown::OnSaved(const SavedShutdown& saved) {
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
  group_timer_ = asker_.RunAfter(left, [this] {
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
  const auto request = RequestOf(asked.pod, groups_[asked.group].seconds);
  asker_.Ask(
      "shutdown." + asked.pod.uid,
      [&pod_worker = deps_.pod_worker, &clock = deps_.env.clock, request] {
        return KillForShutdown(pod_worker, request, After(clock, kKillLimit));
      },
      [this, uid = request.uid(), incarnation = request.incarnation()](const Status& killed) {
        OnKilled(uid, incarnation, killed);
      });
}

void GracefulShutdown::OnKilled(const std::string& uid, int64_t incarnation, const Status& status) {
  Asked* const asked = FindAsked(uid, incarnation);
  if (asked == nullptr || status.ok()) return;
  asked->refused = IsKillRefused(status);
  deps_.metrics.errors.Add({{"kind", "end-pod"}}).Increment();
  if (asked->failure.IsNews(status))
    deps_.env.log.Warn(asked->refused ? "pod-worker refused to terminate a pod for node shutdown"
                                      : "KillPod for node shutdown failed, will retry",
                       {KV("podUID", uid), KV("err", status)});
  if (asked->refused) return Advance();
  asker_.RunAfter(kKillRetry, [this, uid, incarnation] {
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

void GracefulShutdown::Save(std::function<void()> saved) {
  asker_.Ask(
      kFiles,
      [disk = disk_, times = times_,
       progress = phase_ == Phase::kWatching ? std::nullopt : std::optional(progress_)] {
        return disk->Save(progress, times);
      },
      [this, saved = std::move(saved)](const Status& status) {
        if (!status.ok()) deps_.metrics.errors.Add({{"kind", "save-shutdown"}}).Increment();
        if (save_failure_.IsNews(status))
          deps_.env.log.Warn(
              "cannot save the progress of a node shutdown; a new start begins with the group that "
              "was saved last",
              {KV("err", status)});
        saved();
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
