#include "services/pod-worker/control/worker_counts.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {
namespace {

/// By WorkerState.
constexpr const char* kStateNames[] = {"syncing", "terminating", "terminated", "finished"};
constexpr const char* kLifecycles[] = {"sync", "terminating", "terminated", "terminated"};

void CountStates(const Workers& workers, Metrics& metrics) {
  std::map<std::string, int> counts;
  for (const char* state : kStateNames) counts[state] = 0;
  for (const auto& [uid, worker] : workers) ++counts[kStateNames[static_cast<int>(worker->state)]];
  for (const auto& [state, count] : counts) metrics.workers.Add({{"state", state}}).Set(count);
}

/// A pod whose record is not known for a while counts as before.
bool IsWanted(const bus::View<v1::DesiredRecord>& desired, const std::string& key) {
  const auto record = desired.Find(key);
  return record == nullptr ? desired.Contains(key) : record->state() != v1::DesiredRecord::REMOVED;
}

}  // namespace

/// As a kubelet counts them: a pod that no source wants is an orphan; a pod that was only found in
/// the runtime is runtime_only.
void CountWorkers(const Workers& workers, const bus::View<v1::DesiredRecord>& desired,
                  Metrics& metrics) {
  CountStates(workers, metrics);
  metrics.late_unmounts.Set(
      static_cast<double>(std::ranges::count_if(workers, [](const auto& entry) {
        return entry.second->trouble.kind() == Trouble::kUnmounting;
      })));
  std::map<std::tuple<std::string, std::string, std::string>, int> counts;
  for (const char* lifecycle : kLifecycles) {
    for (const char* config : {"desired", "orphan"})
      for (const char* is_static : {"", "true"}) counts[{lifecycle, config, is_static}] = 0;
    counts[{lifecycle, "runtime_only", "unknown"}] = 0;
  }
  for (const auto& [uid, worker] : workers) {
    const char* lifecycle = kLifecycles[static_cast<int>(worker->state)];
    if (worker->orphan) {
      ++counts[{lifecycle, "runtime_only", "unknown"}];
      continue;
    }
    const char* config = IsWanted(desired, bus::KeyOf(uid)) ? "desired" : "orphan";
    ++counts[{lifecycle, config, kube::IsStaticSource(worker->source) ? "true" : ""}];
  }
  for (const auto& [labels, count] : counts)
    metrics.working_pods
        .Add({{"lifecycle", std::get<0>(labels)},
              {"config", std::get<1>(labels)},
              {"static", std::get<2>(labels)}})
        .Set(count);
}

}  // namespace splitlet::pod_worker
