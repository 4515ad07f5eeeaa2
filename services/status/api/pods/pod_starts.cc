#include "services/status/api/pods/pod_starts.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"

namespace splitlet::status {
namespace {

/// A pod-worker of an earlier version writes the reason alone.
v1::EventRecord::Step StepOf(const v1::EventRecord& event) {
  if (event.step() != v1::EventRecord::STEP_UNSPECIFIED) return event.step();
  if (event.reason() == "Pulling") return v1::EventRecord::PULL_BEGAN;
  return event.reason() == "Pulled" ? v1::EventRecord::PULL_ENDED : v1::EventRecord::OTHER;
}

/// Other volumes may have to be attached before the pod starts, which is not this node's time.
bool HasOtherVolumes(const kube::Pod& pod) {
  return std::ranges::any_of(pod.spec().volumes(), [](const kube::Volume& volume) {
    const auto& source = volume.volume_source();
    return !source.has_secret() && !source.has_config_map() && !source.has_downward_api() &&
           !source.has_empty_dir() && !source.has_projected();
  });
}

bool WasNotScheduled(const kube::PodStatus& status) {
  return std::ranges::any_of(status.conditions(), [](const auto& condition) {
    return condition.type() == "PodScheduled" && condition.status() == "False";
  });
}

bool AllRun(const kube::PodStatus& status) {
  return status.container_statuses_size() > 0 &&
         std::ranges::all_of(status.container_statuses(),
                             [](const auto& container) { return container.state().has_running(); });
}

double Seconds(int64_t ns) { return static_cast<double>(std::max<int64_t>(ns, 0)) / 1e9; }

int64_t NanosOf(const auto& time) { return time.seconds() * 1'000'000'000 + time.nanos(); }

int64_t InitTime(const kube::PodStatus& status) {
  int64_t sum = 0;
  for (const auto& init : status.init_container_statuses()) {
    if (!init.state().has_terminated()) continue;
    const auto& end = init.state().terminated();
    sum += std::max<int64_t>(NanosOf(end.finished_at()) - NanosOf(end.started_at()), 0);
  }
  return sum;
}

/// Time in which at least one pull ran. A pull that has not ended counts for nothing.
template <class Pulls>
int64_t PullTime(Pulls pulls) {
  std::erase_if(pulls, [](const auto& pull) { return pull.end_ns == 0; });
  std::ranges::sort(pulls, {}, [](const auto& pull) { return pull.begin_ns; });
  int64_t sum = 0, until = 0;
  for (const auto& pull : pulls) {
    sum += std::max<int64_t>(pull.end_ns - std::max(pull.begin_ns, until), 0);
    until = std::max(until, pull.end_ns);
  }
  return sum;
}

}  // namespace

PodStarts::Pod PodStarts::Take(const v1::DesiredRecord& record, const kube::Pod& pod) {
  Pod taken{.uid = record.uid(),
            .name = kube::PodKey(record.namespace_(), record.name()),
            .created_ns = NanosOf(pod.metadata().creation_timestamp())};
  taken.waits =
      record.source() == kube::kApiSource && taken.created_ns > 0 && !pod.status().has_start_time();
  taken.stateful = HasOtherVolumes(pod);
  taken.host_network = pod.spec().host_network();
  return taken;
}

void PodStarts::OnDesired(const std::string& key) {
  const auto record = desired_.Find(key);
  if (record == nullptr) {
    if (!desired_.Contains(key)) pods_.erase(key);
    return;
  }
  const auto known = pods_.find(key);
  if (known != pods_.end() && !known->second.waits) return;
  const auto pod = kube::ParsePod(record->pod());
  if (!pod.ok()) return;
  Pod& taken = pods_.try_emplace(key, Take(*record, *pod)).first->second;
  if (WasNotScheduled(pod->status())) taken.waits = false;
}

void PodStarts::OnStored(const std::string& key, const kube::PodStatus& status) {
  const auto at = pods_.find(key);
  if (at == pods_.end() || !at->second.waits) return;
  if (status.phase() == "Succeeded" || status.phase() == "Failed") {
    at->second.waits = false;
  } else if (AllRun(status)) {
    Measure(at->second, status);
  }
}

void PodStarts::Measure(Pod& pod, const kube::PodStatus& status) {
  pod.waits = false;
  const int64_t total = ToNanos(clock_.WallNow()) - pod.created_ns;
  const int64_t pulls = PullTime(pod.pulls), inits = InitTime(status);
  const double sli = Seconds(total - pulls - inits);
  pod.pulls.clear();
  metrics_.start_total.Observe(Seconds(total));
  if (!pod.stateful) metrics_.start_sli.Observe(sli);
  if (!pod.stateful && !pod.host_network && std::exchange(first_network_, false))
    metrics_.first_network_start_sli.Set(sli);
  log_.Info(
      "Observed pod startup duration",
      {KV("pod", pod.name), KV("podUID", pod.uid), KV("podStartSLOduration", sli),
       KV("podStartE2EDuration", Seconds(total)), KV("totalImagesPullingTime", Seconds(pulls)),
       KV("totalInitContainerRuntime", Seconds(inits)), KV("isStatefulPod", pod.stateful)});
}

void PodStarts::OnEvent(const v1::EventRecord& event) {
  const auto step = StepOf(event);
  const bool begins = step == v1::EventRecord::PULL_BEGAN;
  if (!begins && step != v1::EventRecord::PULL_ENDED) return;
  const auto at = pods_.find(bus::KeyOf(event.uid()));
  if (at == pods_.end() || !at->second.waits) return;
  auto& pulls = at->second.pulls;
  if (begins) {
    pulls.push_back({.container = event.field_path(), .begin_ns = event.last_wall_ns()});
    return;
  }
  // An image that was already present has no pull to end.
  const auto open = std::ranges::find_if(pulls, [&event](const Pull& pull) {
    return pull.end_ns == 0 && pull.container == event.field_path();
  });
  if (open != pulls.end()) open->end_ns = event.last_wall_ns();
}

}  // namespace splitlet::status
