#pragma once

/// Kubernetes amounts as values of the kernel's cgroup files, version 1 and 2.
/// Threads: pure functions, any.
/// Errors:  none.
/// Units:   in the names.
/// Source:  docs/behaviour/cgroups.md, "Values"; kubelet cm.MilliCPUToShares.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace splitlet::cgroup {

enum class Version { kV1, kV2 };

inline constexpr int64_t kMinShares = 2;
inline constexpr int64_t kMaxShares = 262144;
inline constexpr int64_t kUnlimited = -1;
/// A kubelet's value for QoS classes, far beyond any machine.
inline constexpr int64_t kUnboundedHugePages = int64_t{1} << 62;

int64_t CpuShares(int64_t millicores);
/// 0: no limit. `period_us` in microseconds, like the result.
int64_t CpuQuota(int64_t millicores, int64_t period_us);
/// For version 2, by a kubelet's formula; 0: write nothing.
int64_t CpuWeight(int64_t shares);

/// Unset limits are not written.
struct Limits {
  std::optional<int64_t> cpu_shares = {};
  std::optional<int64_t> cpu_quota_us = {};  // kUnlimited: no limit
  int64_t cpu_period_us = 0;                 // only with a quota
  std::optional<int64_t> memory_bytes = {};  // kUnlimited: no limit
  // Version 2: memory that is never reclaimed, and memory that is reclaimed only if nothing else
  // can be.
  std::optional<int64_t> memory_min_bytes = {}, memory_low_bytes = {};
  std::optional<int64_t> pids = {};                // kUnlimited: no limit
  std::map<std::string, int64_t> huge_pages = {};  // size, "2MB" -> bytes
  bool operator==(const Limits&) const = default;
};

/// A file of a cgroup and its value.
struct Setting {
  std::string controller;  // "memory"
  std::string file;        // "memory.max"
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// In the order in which they are written.
std::vector<Setting> SettingsOf(Version version, const Limits& limits);

}  // namespace splitlet::cgroup
