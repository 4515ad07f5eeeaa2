#include "services/pod-worker/node/swap.h"

#include <sstream>

namespace splitlet::pod_worker {
namespace {

constexpr uint64_t kMaxProcFile = 1u << 20;
constexpr int64_t kKibi = 1024;
constexpr int kNoswapMajor = 6, kNoswapMinor = 4;

/// Of "6.1.0-28-amd64".
bool IsAtLeast(const std::string& release, int major, int minor) {
  std::istringstream text(release);
  int own_major = 0, own_minor = 0;
  char dot = 0;
  text >> own_major >> dot >> own_minor;
  return own_major > major || (own_major == major && own_minor >= minor);
}

/// Outside of one all ids are their own.
bool IsInUserNamespace(fs::FileSystem& files) {
  const auto map = files.Read("/proc/self/uid_map", kMaxProcFile);
  if (!map.ok()) return false;
  std::istringstream text(*map);
  int64_t inside = 0, outside = 0, count = 0;
  text >> inside >> outside >> count;
  return inside != 0 || outside != 0 || count != 4294967295;
}

}  // namespace

StatusOr<int64_t> ReadSwapBytes(fs::FileSystem& files) {
  const auto text = files.Read("/proc/swaps", kMaxProcFile);
  if (text.status().code() == StatusCode::kNotFound) return 0;
  RETURN_IF_ERROR(text, "/proc/swaps");
  std::istringstream lines(*text);
  int64_t sum = 0;
  std::string line;
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string file, type;
    int64_t kibibytes = 0;
    if (words >> file >> type >> kibibytes) sum += kibibytes * kKibi;
  }
  return sum;
}

bool KeepsTmpfsOffSwap(fs::FileSystem& files, fs::Mounts& mounts, const std::string& root_dir) {
  if (IsInUserNamespace(files)) return false;
  const auto release = files.Read("/proc/sys/kernel/osrelease", kMaxProcFile);
  if (release.ok() && IsAtLeast(*release, kNoswapMajor, kNoswapMinor)) return true;
  const std::string place = root_dir + "/tmpfs-noswap-test";
  if (!files.MakeDirs(place, 0700).ok()) return false;
  // A mount that a killed process left here would hide the answer.
  const bool taken = mounts.Unmount(place).ok() &&
                     mounts.Mount({.type = "tmpfs", .path = place, .options = "noswap"}).ok();
  return (mounts.Unmount(place).ok() && files.Remove(place).ok()) && taken;
}

Status CheckSwap(const SwapRules& rules, int64_t swap_bytes) {
  if (rules.fail_on_swap && swap_bytes > 0)
    return FailedPrecondition(
        "running with swap on is not supported, please disable swap or set --fail-swap-on flag to "
        "false");
  if (rules.behavior == "LimitedSwap" && !rules.cgroup_v2)
    return FailedPrecondition(
        "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2");
  return OkStatus();
}

}  // namespace splitlet::pod_worker
