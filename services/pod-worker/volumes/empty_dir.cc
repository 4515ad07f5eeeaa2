#include "services/pod-worker/volumes/empty_dir.h"

#include <algorithm>
#include <set>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/kube/quantity.h"
#include "libs/kube/resources.h"
#include "services/pod-worker/cgroups/pod_limits.h"

namespace splitlet::pod_worker {

namespace {

constexpr std::string_view kHugePages = "HugePages";

void AddHugePages(const kube::Container& container, std::set<std::string>& sizes) {
  for (const auto& [name, amount] : container.resources().requests())
    if (name.starts_with(kube::kHugePagesPrefix))
      sizes.insert(name.substr(kube::kHugePagesPrefix.size()));
}

/// "2Mi", for "HugePages-2Mi" and for "HugePages" of a pod that asks for these alone.
StatusOr<std::string> PageSize(const std::string& medium, const kube::Pod& pod) {
  std::set<std::string> sizes;
  for (const auto& container : pod.spec().init_containers()) AddHugePages(container, sizes);
  for (const auto& container : pod.spec().containers()) AddHugePages(container, sizes);
  const auto without_request = [&medium] {
    return InvalidArgument(
        "medium {}: hugePages storage requested, but there is no resource request for huge pages",
        medium);
  };
  if (sizes.empty()) return without_request();
  if (medium == kHugePages) {
    if (sizes.size() > 1)
      return InvalidArgument(
          "medium: {} can't be used if container requests multiple huge page sizes", medium);
    return *sizes.begin();
  }
  std::string size = medium.substr(kHugePages.size() + 1);
  if (!sizes.contains(size)) return without_request();
  return size;
}

}  // namespace

int64_t TmpfsBytes(const kube::Pod& pod, int64_t allocatable, int64_t size_limit) {
  int64_t bytes = allocatable;
  const auto at_most = [&bytes](int64_t limit) {
    if (limit > 0 && (bytes == 0 || limit < bytes)) bytes = limit;
  };
  if (const auto limits = PodCgroupLimits({.pod = pod, .huge_pages = {}}); limits.ok())
    at_most(limits->memory_bytes.value_or(0));
  at_most(size_limit);
  return bytes;
}

bool EmptyDirVolume::Takes(const VolumeSpec& spec) const { return spec.own().has_empty_dir(); }

SetUpResult EmptyDirVolume::SetUp(const VolumeSpec& spec, const VolumeInput& in,
                                  const VolumePlace& place) {
  const std::string& path = place.path;
  const auto& source = spec.own().empty_dir();
  const std::string& medium = source.medium();
  const FsGroup group = FsGroupOf(in.pod);
  if (medium.empty()) return Done(dirs_.EnsureOnDisk(path, group));
  if (medium == "Memory") {
    const auto limit = kube::Quantity::Parse(source.size_limit().string());
    return Done(dirs_.EnsureTmpfs(
        path, TmpfsBytes(in.pod, allocatable_, limit.ok() ? limit->Value() : 0), group));
  }
  if (medium != kHugePages && !medium.starts_with(std::string(kHugePages) + "-"))
    return InvalidArgument("unknown storage medium \"{}\"", medium);
  const auto size = PageSize(medium, in.pod);
  if (!size.ok()) return size.status();
  return Done(dirs_.EnsureHugePages(path, *size, group));
}

StatusOr<Progress> EmptyDirVolume::TearDown(const VolumePlace& place) {
  return Done(dirs_.Remove(place.path));
}

}  // namespace splitlet::pod_worker
