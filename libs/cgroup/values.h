#pragma once

/// Amounts of Kubernetes as the kernel's files of cgroups take them, version 1 and 2.
/// Threads: pure functions, any.
/// Errors:  none.
/// Units:   as the names say.
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
/// What a kubelet gives classes: far beyond any machine.
inline constexpr int64_t kUnboundedHugePages = int64_t{1} << 62;

int64_t CpuShares(int64_t millicores);
/// 0: no limit. `period_us` in microseconds, like the result.
int64_t CpuQuota(int64_t millicores, int64_t period_us);
/// Of version 2, on the line that kubelets use; 0: not to be written.
int64_t CpuWeight(int64_t shares);

/// What is not set is not written.
struct Limits {
  std::optional<int64_t> cpu_shares = {};
  std::optional<int64_t> cpu_quota_us = {};  // kUnlimited: none
  int64_t cpu_period_us = 0;                 // with a quota
  std::optional<int64_t> memory_bytes = {};  // kUnlimited: none
  // Version 2: what is left to it while there is any other memory, and while there is other memory
  // to take.
  std::optional<int64_t> memory_min_bytes = {}, memory_low_bytes = {};
  std::optional<int64_t> pids = {};                // kUnlimited: none
  std::map<std::string, int64_t> huge_pages = {};  // size, "2MB" -> bytes
  bool operator==(const Limits&) const = default;
};

/// One file of a cgroup.
struct Setting {
  std::string controller;  // "memory"
  std::string file;        // "memory.max"
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// In the order in which they are written.
std::vector<Setting> SettingsOf(Version version, const Limits& limits);

}  // namespace splitlet::cgroup
