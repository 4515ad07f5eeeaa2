#include "services/gc/protect/pressure/memory_lines.h"

#include "libs/cgroup/layout.h"
#include "libs/node/resources.h"
#include "services/gc/measure/cgroup_usage.h"
#include "services/gc/measure/kernel_files.h"

namespace splitlet::gc {
namespace {

constexpr uint64_t kMaxUsageFile = 64;

StatusOr<cgroup::MemoryLine> ReadUse(fs::FileSystem& files, const std::string& directory) {
  const std::string file = directory + "/memory.usage_in_bytes";
  ASSIGN_OR_RETURN(const std::string text, files.Read(file, kMaxUsageFile), "read {}", file);
  const auto bytes = NumberIn(text);
  if (!bytes) return Internal("{}: '{}' is not a number", file, text);
  return cgroup::MemoryLine{directory, *bytes};
}

}  // namespace

StatusOr<MemoryUse> ReadMemoryUse(fs::FileSystem& files, const GcConfig& config) {
  ASSIGN_OR_RETURN(const auto layout,
                   cgroup::ParseLayout(ReadOrEmpty(files, "/proc/self/mountinfo")), "cgroups");
  if (layout.version != cgroup::Version::kV1)
    return Unimplemented("cgroup v2 has no memory threshold notification");
  const std::string top = MountOf(layout, "memory");
  MemoryUse use;
  ASSIGN_OR_RETURN(use["memory.available"], ReadUse(files, top), "the machine");
  if (config.pods_cgroup.empty()) return use;
  // Without a limit of all pods this signal does not exist.
  const auto pods = ReadPodsMemory(files, config.pods_cgroup);
  if (!pods.ok()) return use;
  ASSIGN_OR_RETURN(use[std::string(kPodsMemorySignal)], ReadUse(files, top + pods->cgroup),
                   "all pods");
  return use;
}

std::vector<cgroup::MemoryLine> LinesOf(const std::vector<Threshold>& thresholds,
                                        const std::vector<PressureSignal>& signals,
                                        const MemoryUse& use) {
  std::vector<cgroup::MemoryLine> lines;
  for (const Threshold& threshold : thresholds) {
    const auto used = use.find(threshold.signal);
    const PressureSignal* signal = FindSignal(signals, threshold.signal);
    if (used == use.end() || signal == nullptr) continue;
    const auto amount = node::ThresholdAmount(threshold.value, signal->capacity);
    if (!amount.ok() || !*amount) continue;  // the threshold is off
    const int64_t left = signal->available - (*amount)->Value();
    if (left < 0) continue;  // the threshold is met already
    // A threshold is met when strictly less than its value is left.
    lines.push_back({used->second.directory, used->second.bytes + static_cast<uint64_t>(left) + 1});
  }
  return lines;
}

}  // namespace splitlet::gc
