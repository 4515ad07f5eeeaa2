#include "services/gc/measure/stats/volume_monitor.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"
#include "libs/node/pod_place.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

const prometheus::Histogram::BucketBoundaries kBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                          0.5,   1,    2.5,   5,    10};

/// A period below 10 s needs a shorter tick.
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

uint64_t UsedOf(const v1::FsStats& fs) {
  return fs.has_used_bytes() ? fs.used_bytes() : fs.capacity_bytes() - fs.available_bytes();
}

uint64_t InodesUsedOf(const v1::FsStats& fs) {
  return fs.has_inodes_used() ? fs.inodes_used() : fs.inodes() - fs.inodes_free();
}

}  // namespace

VolumeMonitor::VolumeMonitor(Deps deps, const GcConfig& config)
    : deps_(deps),
      config_(config),
      metrics_(deps.env.metrics),
      timer_(deps.env.loop, TickOf(config.volume_stats_period), [this] { OnTimer(); }),
      asker_(deps.env.loop, deps.env.strands) {}

void VolumeMonitor::Start() { timer_.Kick(); }

MeasuredVolumes VolumeMonitor::Get() const {
  MeasuredVolumes all;
  for (const auto& [part, measured] : parts_) {
    auto& volumes = all[part.uid];
    volumes.insert(volumes.end(), measured.volumes.begin(), measured.volumes.end());
  }
  return all;
}

void VolumeMonitor::OnTimer() {
  if (config_.volume_stats_period <= Duration{0}) return;
  for (const Job& job : Due()) Start(job);
}

bool VolumeMonitor::IsDue(const Part& part) const {
  if (under_way_.contains(part)) return false;
  const auto known = parts_.find(part);
  return known == parts_.end() ||
         deps_.env.clock.Now() - known->second.at >= config_.volume_stats_period;
}

/// Returns the volumes of running pods that are due, and forgets pods that no longer run.
std::vector<VolumeMonitor::Job> VolumeMonitor::Due() {
  std::vector<Job> jobs;
  std::set<std::string> up;
  deps_.runtime.ForEach([&](const std::string& key, const auto& record) {
    if (record == nullptr || !IsUp(record->pod())) return;
    const std::string& uid = record->pod().uid();
    up.insert(uid);
    const Part folders{uid, false}, claims{uid, true};
    if (!IsDue(folders) && !IsDue(claims)) return;
    const auto desired = deps_.desired.Find(key);
    if (desired == nullptr) return;
    const auto pod = kube::ParsePod(desired->pod());
    if (!pod.ok()) return;
    const auto volumes = VolumesOf(*pod, record->pod());
    for (const Part& part : {folders, claims}) {
      if (!IsDue(part)) continue;
      Job job{.part = part, .name_space = desired->namespace_(), .volumes = {}};
      std::ranges::copy_if(volumes, std::back_inserter(job.volumes), [&](const auto& volume) {
        return volume.folder.empty() == part.claims;
      });
      jobs.push_back(std::move(job));
    }
  });
  if (std::erase_if(parts_, [&up](const auto& entry) { return !up.contains(entry.first.uid); }) > 0)
    PutMetrics();
  return jobs;
}

std::vector<MeasuredVolume> VolumeMonitor::Measure(
    const VolumeSources& sources, const node::PodRoots& roots,
    prometheus::Family<prometheus::Histogram>& seconds, const Job& job) {
  std::vector<MeasuredVolume> measured;
  const auto place = node::FindPodPlace(sources.files, roots, job.part.uid);
  if (!place.ok()) return measured;
  for (const VolumeToMeasure& volume : job.volumes) {
    const auto began = sources.clock.Now();
    auto fs = MeasureVolume(sources, volume, place->path);
    seconds.Add({{"metric_source", volume.folder.empty() ? "statfs" : "du"}}, kBuckets)
        .Observe(std::chrono::duration<double>(sources.clock.Now() - began).count());
    if (!fs.ok()) continue;  // not created yet, removed, or not visible
    v1::VolumeStats stats;
    stats.set_name(volume.name);
    stats.set_claim(volume.claim);
    *stats.mutable_fs() = *std::move(fs);
    stats.set_at_wall_ns(ToNanos(sources.clock.WallNow()));
    measured.push_back({std::make_shared<const v1::VolumeStats>(std::move(stats)), volume.local});
  }
  return measured;
}

void VolumeMonitor::Start(const Job& job) {
  if (job.volumes.empty()) return OnMeasured(job, {});
  const bool claims = job.part.claims;
  // The next tick starts the parts that have to wait.
  if (claims && std::ranges::count_if(under_way_, &Part::claims) >= kMaxWithClaims) return;
  under_way_.insert(job.part);
  const std::string strand = claims ? "volumes/" + job.part.uid : "volumes";
  asker_.Ask(
      strand,
      [sources = deps_.sources, roots = node::PodRoots{config_.pods_dir, config_.root_dir},
       &seconds = metrics_.seconds, job] { return Measure(sources, roots, seconds, job); },
      [this, job](const std::vector<MeasuredVolume>& volumes) { OnMeasured(job, volumes); });
}

void VolumeMonitor::OnMeasured(const Job& job, std::vector<MeasuredVolume> volumes) {
  CHECK(deps_.env.loop.IsCurrent());
  under_way_.erase(job.part);
  parts_[job.part] = {
      .at = deps_.env.clock.Now(), .name_space = job.name_space, .volumes = std::move(volumes)};
  if (job.part.claims) PutMetrics();
}

/// Puts one series for each claim, also when several pods use the claim.
void VolumeMonitor::PutMetrics() {
  std::map<Claim, std::shared_ptr<const v1::VolumeStats>> claims;
  for (const auto& [part, measured] : parts_)
    for (const MeasuredVolume& volume : measured.volumes)
      if (!volume.stats->claim().empty())
        claims[{measured.name_space, volume.stats->claim()}] = volume.stats;
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
    const prometheus::Labels labels{{"namespace", claim.first},
                                    {"persistentvolumeclaim", claim.second}};
    const auto put = [&](prometheus::Family<prometheus::Gauge>& family, uint64_t value) {
      auto& gauge = family.Add(labels);
      gauge.Set(static_cast<double>(value));
      gauges.emplace_back(&family, &gauge);
    };
    const v1::FsStats& fs = volume->fs();
    put(metrics_.capacity, fs.capacity_bytes());
    put(metrics_.available, fs.available_bytes());
    put(metrics_.used, UsedOf(fs));
    put(metrics_.inodes, fs.inodes());
    put(metrics_.inodes_free, fs.inodes_free());
    put(metrics_.inodes_used, InodesUsedOf(fs));
  }
}

}  // namespace splitlet::gc
