#include "services/gc/stats/volume_monitor.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/node/pod_place.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

const prometheus::Histogram::BucketBoundaries kBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                          0.5,   1,    2.5,   5,    10};

/// Volumes that are measured more often than all ten seconds are looked for more often, too.
Duration TickOf(Duration period) {
  constexpr Duration kShortest = std::chrono::seconds{1};
  return period > Duration{0} ? std::clamp(period, kShortest, VolumeMonitor::kTick)
                              : VolumeMonitor::kTick;
}

bool IsUp(const v1::ObservedPod& pod) {
  return std::ranges::any_of(pod.sandboxes(), [](const auto& sandbox) {
    return sandbox.state() == v1::SandboxRecord::READY;
  });
}

uint64_t UsedOf(const v1::FsFigures& fs) {
  return fs.has_used_bytes() ? fs.used_bytes() : fs.capacity_bytes() - fs.available_bytes();
}

uint64_t InodesUsedOf(const v1::FsFigures& fs) {
  return fs.has_inodes_used() ? fs.inodes_used() : fs.inodes() - fs.inodes_free();
}

}  // namespace

VolumeMonitor::VolumeMonitor(Deps deps, const GcConfig& config)
    : deps_(deps),
      config_(config),
      metrics_(deps.metrics),
      timer_(deps.loop, TickOf(deps.period), [this] { OnTimer(); }) {}

void VolumeMonitor::Start() { timer_.Kick(); }

MeasuredVolumes VolumeMonitor::Get() const {
  MeasuredVolumes all;
  for (const auto& [uid, pod] : pods_) all[uid] = pod.volumes;
  return all;
}

void VolumeMonitor::OnTimer() {
  if (deps_.period <= Duration{0} || measuring_) return;
  auto jobs = Due();
  if (jobs.empty()) return;
  measuring_ = true;
  deps_.strands.Run("volumes", [this, jobs = std::move(jobs)] {
    std::vector<Result> results;
    for (const Job& job : jobs) results.push_back(Measure(job));
    deps_.loop.Post([this, results = std::move(results)] { OnMeasured(results); });
  });
}

/// Those that run, and were not measured for a period. What no longer runs is forgotten.
std::vector<VolumeMonitor::Job> VolumeMonitor::Due() {
  std::vector<Job> jobs;
  std::set<std::string> up;
  const auto now = deps_.clock.Now();
  deps_.runtime.ForEach([&](const std::string& key, const auto& record) {
    if (record == nullptr || !IsUp(record->pod())) return;
    const std::string& uid = record->pod().uid();
    up.insert(uid);
    const auto known = pods_.find(uid);
    if (known != pods_.end() && now - known->second.measured_at < deps_.period) return;
    const auto desired = deps_.desired.Find(key);
    kube::Pod pod;
    if (desired == nullptr || !pod.ParseFromString(desired->pod())) return;
    jobs.push_back({.uid = uid,
                    .name_space = desired->namespace_(),
                    .volumes = VolumesOf(pod, record->pod())});
  });
  if (std::erase_if(pods_, [&up](const auto& pod) { return !up.contains(pod.first); }) > 0)
    PutMetrics();
  return jobs;
}

VolumeMonitor::Result VolumeMonitor::Measure(Job job) const {
  Result result{.job = std::move(job), .volumes = {}};
  const auto place =
      node::FindPodPlace(deps_.sources.files, {config_.pods_dir, config_.root_dir}, result.job.uid);
  if (!place.ok()) return result;
  for (const VolumeToMeasure& volume : result.job.volumes) {
    const auto began = deps_.clock.Now();
    auto fs = MeasureVolume(deps_.sources, volume, place->path);
    metrics_.seconds.Add({{"metric_source", volume.folder.empty() ? "statfs" : "du"}}, kBuckets)
        .Observe(std::chrono::duration<double>(deps_.clock.Now() - began).count());
    if (!fs.ok()) continue;  // not made yet, gone meanwhile, or not to be seen from here
    v1::VolumeFigures figures;
    figures.set_name(volume.name);
    figures.set_claim(volume.claim);
    *figures.mutable_fs() = *std::move(fs);
    figures.set_at_wall_ns(ToNanos(deps_.clock.WallNow()));
    result.volumes.push_back(
        {std::make_shared<const v1::VolumeFigures>(std::move(figures)), volume.local});
  }
  return result;
}

void VolumeMonitor::OnMeasured(std::vector<Result> results) {
  measuring_ = false;
  for (Result& result : results)
    pods_[result.job.uid] = {.measured_at = deps_.clock.Now(),
                             .name_space = result.job.name_space,
                             .volumes = std::move(result.volumes)};
  PutMetrics();
}

/// One series for each claim, whoever uses it.
void VolumeMonitor::PutMetrics() {
  std::map<Claim, std::shared_ptr<const v1::VolumeFigures>> claims;
  for (const auto& [uid, pod] : pods_)
    for (const MeasuredVolume& volume : pod.volumes)
      if (!volume.figures->claim().empty())
        claims[{pod.name_space, volume.figures->claim()}] = volume.figures;
  for (auto shown = shown_.begin(); shown != shown_.end();) {
    if (claims.contains(shown->first)) {
      ++shown;
      continue;
    }
    for (const auto& [family, gauge] : shown->second) family->Remove(gauge);
    shown = shown_.erase(shown);
  }
  for (const auto& [claim, volume] : claims) {
    auto& gauges = shown_[claim];
    gauges.clear();
    const auto put = [&](prometheus::Family<prometheus::Gauge>& family, uint64_t value) {
      auto& gauge =
          family.Add({{"namespace", claim.first}, {"persistentvolumeclaim", claim.second}});
      gauge.Set(static_cast<double>(value));
      gauges.emplace_back(&family, &gauge);
    };
    const v1::FsFigures& fs = volume->fs();
    put(metrics_.capacity, fs.capacity_bytes());
    put(metrics_.available, fs.available_bytes());
    put(metrics_.used, UsedOf(fs));
    put(metrics_.inodes, fs.inodes());
    put(metrics_.inodes_free, fs.inodes_free());
    put(metrics_.inodes_used, InodesUsedOf(fs));
  }
}

}  // namespace splitlet::gc
