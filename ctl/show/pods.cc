#include "ctl/show/pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ctl/show/fields.h"
#include "ctl/show/objects.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/operate/text.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::ctl {
namespace {

namespace core = k8s::io::api::core::v1;
using Time = k8s::io::apimachinery::pkg::apis::meta::v1::Time;

int64_t Nanos(const Time& time) { return time.seconds() * 1'000'000'000 + time.nanos(); }

bool HasCondition(const core::PodStatus& status, std::string_view type) {
  return std::ranges::any_of(status.conditions(), [type](const core::PodCondition& c) {
    return c.type() == type && c.status() == "True";
  });
}

/// "Signal:9", "ExitCode:1" or the reason that the runtime gave.
std::string ExitText(const core::ContainerStateTerminated& end) {
  if (!end.reason().empty()) return end.reason();
  return end.signal() != 0 ? fmt::format("Signal:{}", end.signal())
                           : fmt::format("ExitCode:{}", end.exit_code());
}

void CountRestarts(const core::ContainerStatus& status, PodRow& row) {
  row.restarts += status.restart_count();
  if (status.last_state().has_terminated())
    row.last_restart_wall_ns =
        std::max(row.last_restart_wall_ns, Nanos(status.last_state().terminated().finished_at()));
}

/// The result of the init containers, as kubectl computes it.
struct InitResult {
  bool initializing = false;
  PodRow sidecars;  // restart count of the sidecars
};

/// Why the pod is still initializing; empty: this container is not the reason.
std::string InitReason(const core::ContainerStatus& status, bool sidecar,
                       const std::string& progress, int& ready) {
  if (status.state().has_terminated()) {
    const auto& end = status.state().terminated();
    return end.exit_code() == 0 ? "" : "Init:" + ExitText(end);
  }
  if (sidecar && status.started()) {
    ready += status.ready() ? 1 : 0;
    return "";
  }
  const auto& waiting = status.state().waiting();
  if (!waiting.reason().empty() && waiting.reason() != "PodInitializing")
    return "Init:" + waiting.reason();
  return progress;
}

InitResult ReadInitContainers(const core::Pod& pod, PodRow& row) {
  std::set<std::string> sidecars;
  for (const auto& container : pod.spec().init_containers())
    if (kube::IsSidecar(container)) sidecars.insert(container.name());
  InitResult result;
  for (int i = 0; i < pod.status().init_container_statuses_size(); ++i) {
    const auto& status = pod.status().init_container_statuses(i);
    const bool sidecar = sidecars.contains(status.name());
    CountRestarts(status, row);
    if (sidecar) CountRestarts(status, result.sidecars);
    const std::string progress = fmt::format("Init:{}/{}", i, pod.spec().init_containers_size());
    const std::string reason = InitReason(status, sidecar, progress, row.ready);
    if (reason.empty()) continue;
    row.status = reason;
    result.initializing = true;
    break;
  }
  return result;
}

/// True when at least one container runs and is ready.
bool ReadContainers(const core::PodStatus& status, PodRow& row) {
  bool has_running = false;
  for (int i = status.container_statuses_size() - 1; i >= 0; --i) {
    const auto& container = status.container_statuses(i);
    const auto& state = container.state();
    CountRestarts(container, row);
    if (state.has_waiting() && !state.waiting().reason().empty()) {
      row.status = state.waiting().reason();
    } else if (state.has_terminated()) {
      row.status = ExitText(state.terminated());
    } else if (container.ready() && state.has_running()) {
      has_running = true;
      ++row.ready;
    }
  }
  return has_running;
}

void ReadStatus(const core::Pod& pod, PodRow& row) {
  const core::PodStatus& status = pod.status();
  row.status = status.reason().empty() ? status.phase() : status.reason();
  for (const auto& condition : status.conditions())
    if (condition.type() == "PodScheduled" && condition.reason() == "SchedulingGated")
      row.status = condition.reason();
  const InitResult init = ReadInitContainers(pod, row);
  if (init.initializing && !HasCondition(status, "Initialized")) return;
  row.restarts = init.sidecars.restarts;
  row.last_restart_wall_ns = init.sidecars.last_restart_wall_ns;
  const bool has_running = ReadContainers(status, row);
  if (row.status == "Completed" && has_running)
    row.status = HasCondition(status, "Ready") ? "Running" : "NotReady";
}

bool IsTerminal(const core::PodStatus& status) {
  return status.phase() == "Failed" || status.phase() == "Succeeded";
}

void ReadWide(const core::Pod& pod, PodRow& row) {
  row.ip = pod.status().pod_ips_size() > 0 ? pod.status().pod_ips(0).ip() : pod.status().pod_ip();
  row.node = pod.spec().node_name();
  row.nominated_node = pod.status().nominated_node_name();
  if (pod.spec().readiness_gates_size() == 0) return;
  int met = 0;
  for (const auto& gate : pod.spec().readiness_gates())
    met += HasCondition(pod.status(), gate.condition_type()) ? 1 : 0;
  row.readiness_gates = fmt::format("{}/{}", met, pod.spec().readiness_gates_size());
}

const core::Pod& PodOf(const operate::PodView& view) {
  static const core::Pod none;
  return view.pod == nullptr ? none : *view.pod;
}

Time TimeOf(int64_t wall_ns) {
  Time time;
  time.set_seconds(wall_ns / 1'000'000'000);
  return time;
}

/// Adds the metadata that an API server would have for a static pod: its creation time and, after
/// its removal, the end of its grace period.
core::Pod ObjectOf(const operate::PodView& view) {
  core::Pod pod = PodOf(view);
  auto& metadata = *pod.mutable_metadata();
  if (const int64_t created = CreatedAt(view); created != 0 && !metadata.has_creation_timestamp())
    *metadata.mutable_creation_timestamp() = TimeOf(created);
  if (!view.removed || metadata.has_deletion_timestamp()) return pod;
  const int64_t grace = pod.spec().termination_grace_period_seconds();
  if (view.removed_at_wall_ns != 0)
    *metadata.mutable_deletion_timestamp() =
        TimeOf(view.removed_at_wall_ns + grace * 1'000'000'000);
  metadata.set_deletion_grace_period_seconds(grace);
  return pod;
}

/// The pointers refer into `pods`.
std::vector<ApiObject> ObjectsOf(const std::vector<core::Pod>& pods) {
  std::vector<ApiObject> objects;
  for (const core::Pod& pod : pods) objects.push_back({"Pod", pod});
  return objects;
}

std::vector<core::Pod> PodsOf(const std::vector<operate::PodView>& views) {
  std::vector<core::Pod> pods;
  for (const operate::PodView& view : views) pods.push_back(ObjectOf(view));
  return pods;
}

/// Among several pods with one name the highest number wins: a wanted pod, then a pod that only
/// other processes know, then a pod that is ending or has only leftovers.
int Standing(const operate::PodView& view) {
  const bool finished = view.worker != nullptr && view.worker->state() == v1::FINISHED;
  if (view.removed || (view.desired == nullptr && finished)) return 0;
  return view.desired == nullptr ? 1 : 2;
}

}  // namespace

int64_t CreatedAt(const operate::PodView& view) {
  const core::Pod& pod = PodOf(view);
  if (pod.metadata().has_creation_timestamp()) return Nanos(pod.metadata().creation_timestamp());
  if (view.seen_at_wall_ns != 0) return view.seen_at_wall_ns;
  return pod.status().has_start_time() ? Nanos(pod.status().start_time()) : 0;
}

bool IsNamed(const operate::PodView& view, const std::string& name) {
  return view.name == name || view.uid == name || view.name_space + "/" + view.name == name;
}

StatusOr<operate::PodView> PickPod(const std::vector<operate::PodView>& pods,
                                   const std::string& name) {
  std::vector<const operate::PodView*> named;
  for (const operate::PodView& view : pods)
    if (IsNamed(view, name)) named.push_back(&view);
  if (named.empty()) return NotFound("there is no pod \"{}\" on this node", name);
  int best = 0;
  for (const operate::PodView* view : named) best = std::max(best, Standing(*view));
  std::erase_if(named, [best](const operate::PodView* view) { return Standing(*view) < best; });
  if (named.size() == 1) return *named.front();
  std::string list;
  for (const operate::PodView* view : named)
    list += fmt::format(" {}/{} ({})", view->name_space, view->name, view->uid);
  return InvalidArgument("\"{}\" matches several pods, name one by its UID:{}", name, list);
}

PodRow MakePodRow(const operate::PodView& view, WallTime now) {
  const core::Pod& pod = PodOf(view);
  PodRow row;
  row.total = pod.spec().containers_size();
  for (const auto& container : pod.spec().init_containers())
    row.total += kube::IsSidecar(container) ? 1 : 0;
  if (row.total == 0) row.total = pod.status().container_statuses_size();  // the spec is not known
  row.status = "Unknown";
  if (view.has_status) ReadStatus(pod, row);
  const bool deleted = view.removed || pod.metadata().has_deletion_timestamp();
  if (deleted && pod.status().reason() == "NodeLost")
    row.status = "Unknown";
  else if (deleted && !IsTerminal(pod.status()))
    row.status = "Terminating";
  row.age = operate::Age(now, CreatedAt(view));
  ReadWide(pod, row);
  return row;
}

std::string RestartsText(const PodRow& row, WallTime now) {
  if (row.restarts == 0 || row.last_restart_wall_ns == 0) return fmt::format("{}", row.restarts);
  return fmt::format("{} ({} ago)", row.restarts, operate::Age(now, row.last_restart_wall_ns));
}

std::string PodTable(const std::vector<operate::PodView>& pods, WallTime now,
                     const PodTableOptions& options) {
  std::vector<std::string> header = {"NAME", "READY", "STATUS", "RESTARTS", "AGE"};
  if (options.namespaces) header.insert(header.begin(), "NAMESPACE");
  if (options.wide)
    header.insert(header.end(), {"IP", "NODE", "NOMINATED NODE", "READINESS GATES"});
  operate::Table table(std::move(header));
  table.KeepWidths(options.widths);
  for (const operate::PodView& view : pods) {
    const PodRow row = MakePodRow(view, now);
    std::vector<std::string> cells = {view.name, fmt::format("{}/{}", row.ready, row.total),
                                      row.status, RestartsText(row, now), row.age};
    if (options.namespaces) cells.insert(cells.begin(), view.name_space);
    if (options.wide)
      cells.insert(cells.end(), {OrNone(row.ip), OrNone(row.node), OrNone(row.nominated_node),
                                 OrNone(row.readiness_gates)});
    table.Add(std::move(cells));
  }
  return table.Text(options.header);
}

std::string PodJson(const operate::PodView& view) { return ObjectJson({"Pod", ObjectOf(view)}); }

std::string PodYaml(const operate::PodView& view) { return ObjectYaml({"Pod", ObjectOf(view)}); }

std::string PodListJson(const std::vector<operate::PodView>& pods) {
  return ListJson(ObjectsOf(PodsOf(pods)));
}

std::string PodListYaml(const std::vector<operate::PodView>& pods) {
  return ListYaml(ObjectsOf(PodsOf(pods)));
}

}  // namespace splitlet::ctl
