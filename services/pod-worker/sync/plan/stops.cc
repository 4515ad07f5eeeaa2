#include "services/pod-worker/sync/plan/stops.h"

#include <fmt/format.h>

#include <algorithm>

#include "libs/cri/incarnation.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

ContainerStop StopOf(const v1::ContainerRecord& record, bool replaced) {
  return {record.id(), record.name(), fmt::format("Stopping container {}", record.name()),
          replaced};
}

bool IsUnstopped(const v1::ContainerRecord& record, const StoppedIds& stopped) {
  return record.state() == v1::ContainerRecord::UNKNOWN && !stopped.contains(record.id());
}

}  // namespace

std::vector<ContainerStop> StopsOfEarlier(const v1::ObservedPod& all, int64_t incarnation,
                                          const StoppedIds& stopped) {
  std::vector<ContainerStop> stops;
  for (const auto& record : all.containers()) {
    if (!cri::IsEarlier(record.incarnation(), incarnation)) continue;
    const bool unknown = IsUnstopped(record, stopped);
    if (record.state() == v1::ContainerRecord::RUNNING || unknown)
      stops.push_back(StopOf(record, unknown));
  }
  return stops;
}

std::vector<ContainerStop> StopsOfAll(const v1::ObservedPod& seen, const StoppedIds& stopped,
                                      bool replaced) {
  std::vector<ContainerStop> stops;
  for (const auto& record : seen.containers())
    if (record.state() == v1::ContainerRecord::RUNNING || IsUnstopped(record, stopped))
      stops.push_back(StopOf(record, replaced));
  return stops;
}

void AddFailedHooks(const v1::ObservedPod& seen, const std::set<std::string>& failed_hooks,
                    std::vector<ContainerStop>& stops) {
  for (const auto& record : seen.containers()) {
    const bool listed = std::ranges::any_of(
        stops, [&record](const ContainerStop& stop) { return stop.id == record.id(); });
    if (record.state() == v1::ContainerRecord::RUNNING && !listed &&
        failed_hooks.contains(record.id()))
      stops.push_back({record.id(), record.name(), "FailedPostStartHook", false});
  }
}

}  // namespace splitlet::pod_worker
