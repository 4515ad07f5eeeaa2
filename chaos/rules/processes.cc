#include "chaos/rules/processes.h"

#include <fmt/format.h>

#include "libs/operate/text.h"

namespace splitlet::chaos {

void ProcessBackRule::OnInspected(const Snapshot& snapshot) {
  for (const auto& process : snapshot.processes) {
    if (process.pid != 0 || context().disturbances.KeepsDown(process.name)) {
      absent_.erase(process.name);
      continue;
    }
    const Clock::Time since = absent_.try_emplace(process.name, snapshot.at).first->second;
    if (snapshot.at - since > context().scenario.limits.back)
      context().findings.Add("process-back", process.name,
                             fmt::format("has been down for {} although no fault keeps it down",
                                         operate::TimeText(snapshot.at - since)));
  }
}

void MemoryRule::OnInspected(const Snapshot& snapshot) {
  const uint64_t limit = context().scenario.limits.memory_bytes;
  for (const auto& process : snapshot.processes)
    if (process.memory_bytes > limit)
      context().findings.Add("memory", process.name,
                             fmt::format("{} MiB resident, the limit is {} MiB",
                                         process.memory_bytes >> 20, limit >> 20));
}

void DescriptorsRule::OnInspected(const Snapshot& snapshot) {
  const int limit = context().scenario.limits.descriptors;
  for (const auto& process : snapshot.processes)
    if (process.descriptors > limit)
      context().findings.Add("descriptors", process.name,
                             fmt::format("{} open, the limit is {}", process.descriptors, limit));
}

}  // namespace splitlet::chaos
