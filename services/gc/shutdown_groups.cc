#include "services/gc/shutdown_groups.h"

#include <algorithm>

#include "libs/kube/pod_types.h"

namespace splitlet::gc {

ShutdownGroups PlainGroups(Duration total, Duration critical) {
  using std::chrono::seconds;
  if (total <= Duration{0} || critical > total) return {};
  return {{.priority = 0, .seconds = std::chrono::floor<seconds>(total - critical).count()},
          {.priority = kube::kSystemCriticalPriority,
           .seconds = std::chrono::floor<seconds>(critical).count()}};
}

ShutdownGroups SortedGroups(ShutdownGroups groups) {
  if (TotalSeconds(groups) == 0) return {};
  std::ranges::stable_sort(groups, {}, &ShutdownGroup::priority);
  return groups;
}

int64_t TotalSeconds(const ShutdownGroups& groups) {
  int64_t total = 0;
  for (const auto& group : groups) total += group.seconds;
  return total;
}

}  // namespace splitlet::gc
