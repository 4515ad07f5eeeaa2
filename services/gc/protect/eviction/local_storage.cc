#include "services/gc/protect/eviction/local_storage.h"

#include <fmt/format.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/resources.h"

namespace splitlet::gc {
namespace {

using kube::Quantity;

/// Nothing: the volume has no limit above zero.
std::optional<Quantity> SizeLimit(const k8s::io::api::core::v1::Volume& volume) {
  const auto& source = volume.volume_source();
  if (!source.has_empty_dir() || !source.empty_dir().has_size_limit()) return std::nullopt;
  const auto limit = Quantity::Parse(source.empty_dir().size_limit().string());
  if (!limit.ok() || *limit <= Quantity()) return std::nullopt;
  return *limit;
}

std::optional<Quantity> StorageIn(const StatusOr<kube::Resources>& limits) {
  if (!limits.ok()) return std::nullopt;
  const auto found = limits->find(std::string(kube::kEphemeralStorage));
  if (found == limits->end()) return std::nullopt;
  return found->second;
}

/// A tree that was counted in part counts with that part: unknown usage evicts no pod.
bool Above(const DiskStats& used, const Quantity& limit) {
  return Quantity::FromInt(used.bytes) > limit;
}

std::optional<Exceeded> OfVolumes(const kube::Pod& pod, const PodUsage& usage) {
  for (const auto& volume : pod.spec().volumes()) {
    const auto limit = SizeLimit(volume);
    const auto used = usage.limited_volumes.find(volume.name());
    if (!limit || used == usage.limited_volumes.end() || !Above(used->second, *limit)) continue;
    return Exceeded{"emptydirfs.limit",
                    fmt::format("Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\". ",
                                volume.name(), limit->ToString())};
  }
  return std::nullopt;
}

std::optional<Exceeded> OfPod(const kube::Pod& pod, const PodUsage& usage) {
  const auto limit = StorageIn(kube::PodLimits(pod));
  if (!limit || !Above(usage.disk(true, true), *limit)) return std::nullopt;
  return Exceeded{
      "ephemeralpodfs.limit",
      fmt::format("Pod ephemeral local storage usage exceeds the total limit of containers {}. ",
                  limit->ToString())};
}

std::optional<Exceeded> OfContainers(const kube::Pod& pod, const PodUsage& usage,
                                     bool own_image_fs) {
  for (const auto& container : pod.spec().containers()) {
    const auto limit = StorageIn(kube::LimitsOf(container.resources()));
    const auto measured = usage.containers.find(container.name());
    if (!limit || measured == usage.containers.end()) continue;
    DiskStats used = measured->second.logs;
    if (!own_image_fs) used += measured->second.layer;
    if (!Above(used, *limit)) continue;
    return Exceeded{"ephemeralcontainerfs.limit",
                    fmt::format("Container {} exceeded its local ephemeral storage limit \"{}\". ",
                                container.name(), limit->ToString())};
  }
  return std::nullopt;
}

}  // namespace

LocalLimits LocalLimitsOf(const kube::Pod& pod) {
  LocalLimits limits;
  for (const auto& volume : pod.spec().volumes())
    if (SizeLimit(volume)) limits.volumes.insert(volume.name());
  limits.pod_or_containers = StorageIn(kube::PodLimits(pod)).has_value();
  return limits;
}

std::optional<Exceeded> FindExceeded(const kube::Pod& pod, const PodUsage& usage,
                                     bool own_image_fs) {
  if (auto exceeded = OfVolumes(pod, usage)) return exceeded;
  if (!usage.has_disk) return std::nullopt;
  if (auto exceeded = OfPod(pod, usage)) return exceeded;
  return OfContainers(pod, usage, own_image_fs);
}

}  // namespace splitlet::gc
