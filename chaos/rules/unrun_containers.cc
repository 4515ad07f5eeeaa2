#include "chaos/rules/unrun_containers.h"

#include <algorithm>

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {

void UnrunContainers::OnInspected(const Snapshot& snapshot) {
  for (const auto& c : snapshot.containers)
    if (c.never_ran) ids_[{c.uid, c.name}].insert(c.id);
}

int UnrunContainers::Count(const std::string& uid, const std::string& container) const {
  const auto found = ids_.find({uid, container});
  return found == ids_.end() ? 0 : static_cast<int>(found->second.size());
}

bool UnrunContainers::IsIn(const ReportedPod& reported) const {
  return std::ranges::any_of(reported.containers, [&](const ReportedContainer& c) {
    const auto found = ids_.find({reported.uid, c.name});
    return found != ids_.end() && found->second.contains(BareId(c.id));
  });
}

}  // namespace splitlet::chaos
