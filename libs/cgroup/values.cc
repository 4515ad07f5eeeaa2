#include "libs/cgroup/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace splitlet::cgroup {

namespace {

constexpr int64_t kMinQuotaUs = 1000;
constexpr int64_t kMaxWeight = 10000;

/// Computes `value * factor / 1000` without overflow, because a pod may request absurd amounts.
int64_t Thousandths(int64_t value, int64_t factor) {
  __extension__ using Wide = __int128;
  constexpr Wide kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(static_cast<Wide>(value) * factor / 1000, kMost));
}

std::string OrMax(int64_t value) { return value < 0 ? "max" : fmt::format("{}", value); }

void AddV1(const Limits& limits, std::vector<Setting>& out) {
  if (limits.cpu_shares)
    out.push_back({"cpu", "cpu.shares", fmt::format("{}", *limits.cpu_shares)});
  if (limits.cpu_quota_us) {
    if (limits.cpu_period_us > 0)
      out.push_back({"cpu", "cpu.cfs_period_us", fmt::format("{}", limits.cpu_period_us)});
    out.push_back({"cpu", "cpu.cfs_quota_us", fmt::format("{}", *limits.cpu_quota_us)});
  }
  if (limits.memory_bytes)
    out.push_back({"memory", "memory.limit_in_bytes", fmt::format("{}", *limits.memory_bytes)});
}

void AddV2(const Limits& limits, std::vector<Setting>& out) {
  if (limits.cpu_shares && CpuWeight(*limits.cpu_shares) != 0)
    out.push_back({"cpu", "cpu.weight", fmt::format("{}", CpuWeight(*limits.cpu_shares))});
  if (limits.cpu_quota_us) {
    std::string value = OrMax(*limits.cpu_quota_us);
    if (limits.cpu_period_us > 0) value += fmt::format(" {}", limits.cpu_period_us);
    out.push_back({"cpu", "cpu.max", std::move(value)});
  }
  if (limits.memory_bytes) out.push_back({"memory", "memory.max", OrMax(*limits.memory_bytes)});
  if (limits.memory_min_bytes)
    out.push_back({"memory", "memory.min", fmt::format("{}", *limits.memory_min_bytes)});
  if (limits.memory_low_bytes)
    out.push_back({"memory", "memory.low", fmt::format("{}", *limits.memory_low_bytes)});
}

}  // namespace

int64_t CpuShares(int64_t millicores) {
  return std::clamp(Thousandths(millicores, 1024), kMinShares, kMaxShares);
}

int64_t CpuQuota(int64_t millicores, int64_t period_us) {
  if (millicores == 0) return 0;
  return std::max(Thousandths(millicores, period_us), kMinQuotaUs);
}

int64_t CpuWeight(int64_t shares) {
  if (shares <= 0) return 0;
  if (shares >= kMaxShares) return kMaxWeight;
  return 1 +
         (std::max(shares, kMinShares) - kMinShares) * (kMaxWeight - 1) / (kMaxShares - kMinShares);
}

std::vector<Setting> SettingsOf(Version version, const Limits& limits) {
  std::vector<Setting> out;
  version == Version::kV1 ? AddV1(limits, out) : AddV2(limits, out);
  if (limits.pids) out.push_back({"pids", "pids.max", OrMax(*limits.pids)});
  // Limits reserved pages too; otherwise mmap succeeds and the first access fails with SIGBUS.
  const char* const limit = version == Version::kV1 ? "limit_in_bytes" : "max";
  for (const auto& [size, bytes] : limits.huge_pages)
    for (const char* of : {"", "rsvd."})
      out.push_back(
          {"hugetlb", fmt::format("hugetlb.{}.{}{}", size, of, limit), fmt::format("{}", bytes)});
  return out;
}

}  // namespace splitlet::cgroup
