#include "services/pod-worker/machine/swap.h"

#include <sstream>

namespace splitlet::pod_worker {
namespace {

constexpr uint64_t kMaxFile = 1u << 20;
constexpr int64_t kKibi = 1024;

}  // namespace

StatusOr<int64_t> ReadSwapBytes(fs::FileSystem& files) {
  const auto text = files.Read("/proc/swaps", kMaxFile);
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
