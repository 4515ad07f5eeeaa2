#include "services/gc/protect/eviction/evictor.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/gc/protect/eviction/message.h"

namespace splitlet::gc {
namespace {

constexpr const char* kStrand = "eviction";
/// Measuring pods for their own limits may take one part in this many of a disk's time.
constexpr int kMeasureShare = 50;

}  // namespace

Evictor::Evictor(const Deps& deps, const GcConfig& config)
    : deps_(deps),
      config_(config),
      pods_(deps.desired, deps.workers, config),
      evictions_({.env = deps_.env,
                  .files = deps_.files,
                  .pod_worker = deps_.pod_worker,
                  .pods = pods_,
                  .events = deps_.events,
                  .metrics = deps_.metrics,
                  .on_none = [this] { deps_.inspect_again(); }},
                 config),
      asker_(deps_.env.loop, deps_.env.strands) {}

void Evictor::OnPass(const Pass& pass) {
  CHECK(deps_.env.loop.IsCurrent());
  if (evictions_.any() || !pods_.known()) return;
  switch (step_) {
    case Step::kMeasuring:
    case Step::kFreeing: return;
    case Step::kIdle: pass_ = pass; return MeasureLimits();
    case Step::kInspecting:
      if (pass.began < freed_at_)
        return;  // the inspection may have begun before the end of the round
      pass_ = pass;
      if (AnyMet(ThresholdsOf(config_), pass_.signals)) return MeasurePods();
      deps_.env.log.Info("reclaimed enough, no eviction needed",
                         {KV("threshold", KeyOf(threshold_))});
      return End();
  }
}

/// A pod whose tree takes long to measure is measured less often.
void Evictor::MeasureLimits() {
  const Clock::Time now = deps_.env.clock.Now();
  std::vector<ActivePods::Limited> due;
  if (config_.local_storage_limits) due = pods_.EvictableWithLimits();
  std::erase_if(unmeasured_, [&due](const auto& entry) {
    return std::ranges::find(due, entry.first,
                             [](const auto& limited) { return limited.pod.uid; }) == due.end();
  });
  std::erase_if(due, [&](const ActivePods::Limited& limited) {
    const auto next = measure_next_.find(limited.pod.uid);
    return next != measure_next_.end() && now < next->second;
  });
  std::erase_if(measure_next_, [&](const auto& entry) { return entry.second <= now; });
  if (due.empty()) return ActOnThreshold();
  std::vector<UsageWish> wishes;
  for (const auto& [pod, limits] : due)
    wishes.push_back({.uid = pod.uid,
                      .pod = pod.pod,
                      .disk = limits.pod_or_containers,
                      .volumes = limits.volumes});
  step_ = Step::kMeasuring;
  struct Measured {
    StatusOr<DiskLayout> layout;
    StatusOr<Usages> usages;
  };
  asker_.Ask(
      kStrand,
      [from = deps_.usage, &images = deps_.images, &config = config_, wishes = std::move(wishes),
       known = layout_] {
        return Measured{.layout = known ? *known : FindDiskLayout(from, images, config),
                        .usages = ReadUsage(from, wishes, config)};
      },
      [this, due = std::move(due), now](const Measured& measured) {
        OnLayout(measured.layout);
        const Clock::Time end = deps_.env.clock.Now();
        for (const auto& limited : due)
          measure_next_[limited.pod.uid] = end + (end - now) * kMeasureShare;
        OnLimitsMeasured(due, measured.usages);
      });
}

void Evictor::OnLimitsMeasured(const std::vector<ActivePods::Limited>& pods,
                               const StatusOr<Usages>& usages) {
  if (!usages.ok()) {
    NoteUnread(usages.status());
    return ActOnThreshold();
  }
  usage_failure_.End();
  for (const auto& [pod, limits] : pods) {
    const auto usage = usages->find(pod.uid);
    if (usage == usages->end() || !pods_.IsActive(pod)) continue;
    NoteUnmeasured(pod, usage->second.unmeasured);
    const auto exceeded =
        FindExceeded(*pod.pod, usage->second, !layout_.value_or(DiskLayout{}).one());
    if (!exceeded) continue;
    Evict(pod, exceeded->signal, {.message = exceeded->message, .own_limit = true});
  }
  if (evictions_.any()) return End();
  ActOnThreshold();
}

void Evictor::ActOnThreshold() {
  if (pass_.judged.due.empty()) return End();
  threshold_ = pass_.judged.due.front();
  const auto resource = StarvedBy(threshold_.signal);
  if (!resource) return End();
  deps_.node_events.Warn("EvictionThresholdMet", "Attempting to reclaim " + NameOf(*resource));
  const bool disk = *resource == Starved::kStorage || *resource == Starved::kInodes;
  if (disk && !layout_) return FindLayout();
  Free();
}

void Evictor::FindLayout() {
  step_ = Step::kMeasuring;
  asker_.Ask(
      kStrand,
      [from = deps_.usage, &images = deps_.images, &config = config_] {
        return FindDiskLayout(from, images, config);
      },
      [this](const StatusOr<DiskLayout>& found) {
        OnLayout(found);
        found.ok() ? Free() : End();
      });
}

void Evictor::OnLayout(const StatusOr<DiskLayout>& found) {
  if (found.ok()) layout_ = *found;
  if (!found.ok()) deps_.metrics.errors.Add({{"kind", "eviction"}}).Increment();
  if (layout_failure_.IsNews(found.status()))
    deps_.env.log.Warn(
        "cannot find the disks of the pods, will try again: limits of local storage count as on "
        "one disk, and no pod is evicted for a full disk until then",
        {KV("err", found.status())});
}

void Evictor::Free() {
  const NodeReclaim what = ReclaimFor(threshold_.signal, layout_.value_or(DiskLayout{}));
  if (!what.any()) return MeasurePods();
  step_ = Step::kFreeing;
  deps_.reclaim(what, [this] { OnFreed(); });
}

void Evictor::OnFreed() {
  step_ = Step::kInspecting;
  freed_at_ = deps_.env.clock.Now();
  deps_.inspect_again();
}

void Evictor::MeasurePods() {
  std::vector<Candidate> pods = pods_.Evictable();
  if (pods.empty()) {
    if (!std::exchange(logged_no_candidate_, true))
      deps_.env.log.Warn(
          "an eviction threshold is met, but no pod may be evicted, will check again",
          {KV("threshold", KeyOf(threshold_))});
    return End();
  }
  logged_no_candidate_ = false;
  const bool memory = StarvedBy(threshold_.signal) == Starved::kMemory;
  const bool processes = StarvedBy(threshold_.signal) == Starved::kPids;
  std::vector<UsageWish> wishes;
  for (const auto& pod : pods)
    wishes.push_back({.uid = pod.uid,
                      .pod = pod.pod,
                      .memory = memory,
                      .disk = !memory && !processes,
                      .processes = processes,
                      .volumes = {}});
  step_ = Step::kMeasuring;
  asker_.Ask(
      kStrand,
      [from = deps_.usage, &config = config_, wishes = std::move(wishes)] {
        return ReadUsage(from, wishes, config);
      },
      [this, pods = std::move(pods)](const StatusOr<Usages>& usages) {
        OnPodsMeasured(pods, usages);
      });
}

void Evictor::OnPodsMeasured(std::vector<Candidate> pods, const StatusOr<Usages>& usages) {
  End();
  if (!usages.ok()) {
    NoteUnread(usages.status());
    return;
  }
  usage_failure_.End();
  for (auto& pod : pods) {
    const auto usage = usages->find(pod.uid);
    if (usage != usages->end()) pod.usage = usage->second;
  }
  Rank(*StarvedBy(threshold_.signal),
       ScopeOfSignal(threshold_.signal, layout_.value_or(DiskLayout{})), pods);
  const auto worst =
      std::ranges::find_if(pods, [this](const Candidate& pod) { return pods_.IsActive(pod); });
  if (worst == pods.end()) return;
  const PressureSignal* signal = FindSignal(pass_.signals, threshold_.signal);
  deps_.metrics.ObserveStatsAge(threshold_.signal, deps_.env.clock.Now() - pass_.began);
  Evict(*worst, threshold_.signal,
        {.message = EvictionMessage(threshold_, signal, *worst),
         .annotations = EvictionAnnotations(threshold_, *worst),
         .grace_seconds =
             GraceSeconds(*worst->pod, threshold_.hard(), config_.eviction_max_grace_seconds)});
}

void Evictor::NoteUnread(const Status& why) {
  deps_.metrics.errors.Add({{"kind", "eviction"}}).Increment();
  if (usage_failure_.IsNews(why))
    deps_.env.log.Warn("cannot read stats for an eviction; the next pass tries again",
                       {KV("err", why)});
}

void Evictor::NoteUnmeasured(const Candidate& pod, const std::string& why) {
  if (why.empty()) {
    unmeasured_.erase(pod.uid);
    return;
  }
  deps_.metrics.errors.Add({{"kind", "measure"}}).Increment();
  if (std::exchange(unmeasured_[pod.uid], why) == why) return;
  deps_.env.log.Warn("cannot measure all files of a pod; unmeasured files count against no limit",
                     {KV("pod", kube::PodKey(*pod.pod)), KV("podUID", pod.uid), KV("err", why)});
}

void Evictor::Evict(const Candidate& pod, const std::string& signal, PendingEviction eviction) {
  eviction.uid = pod.uid;
  eviction.name_space = pod.pod->metadata().namespace_();
  eviction.name = pod.pod->metadata().name();
  eviction.incarnation = pod.incarnation;
  eviction.signal = signal;
  evictions_.Add(std::move(eviction));
}

}  // namespace splitlet::gc
