#include "services/pod-worker/sync/plan/waiting.h"

#include <algorithm>

#include "services/pod-worker/pod/observed.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

std::set<std::string> NoLongerWaiting(const WaitingInput& in) {
  const auto is_replaced = [&in](const v1::ContainerRecord& record) {
    return in.replacing.contains(record.id());
  };
  const auto replaces = [&](const v1::ContainerRecord& record) {
    return std::ranges::any_of(in.seen.containers(), [&](const v1::ContainerRecord& other) {
      return other.name() == record.name() && is_replaced(other);
    });
  };
  std::set<std::string> names;
  for (const auto& record : in.seen.containers()) {
    const bool ended = record.state() == v1::ContainerRecord::EXITED && !is_replaced(record) &&
                       NewestRecord(in.seen, record.name()) == &record;
    const bool runs = record.state() == v1::ContainerRecord::RUNNING && !replaces(record);
    if ((ended || runs) && !in.failed_hooks.contains(record.id())) names.insert(record.name());
  }
  return names;
}

}  // namespace splitlet::pod_worker
