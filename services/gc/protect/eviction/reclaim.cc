#include "services/gc/protect/eviction/reclaim.h"

#include <optional>

namespace splitlet::gc {
namespace {

std::optional<uint64_t> DeviceOfSignal(const std::string& signal, const DiskLayout& layout) {
  if (signal.starts_with("nodefs.")) return layout.pods;
  if (signal.starts_with("imagefs.")) return layout.images;
  if (signal.starts_with("containerfs.")) return layout.containers;
  return std::nullopt;
}

}  // namespace

DiskScope ScopeOfSignal(const std::string& signal, const DiskLayout& layout) {
  const auto device = DeviceOfSignal(signal, layout);
  if (!device) return {};
  return {.layers = *device == layout.containers, .rest = *device == layout.pods};
}

NodeReclaim ReclaimFor(const std::string& signal, const DiskLayout& layout) {
  const auto device = DeviceOfSignal(signal, layout);
  if (!device) return {};
  return {.containers = *device == layout.containers, .images = *device == layout.images};
}

}  // namespace splitlet::gc
