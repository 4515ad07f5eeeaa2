#include "ctl/show/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ctl/show/events.h"
#include "ctl/show/fields.h"
#include "ctl/show/time_text.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"
#include "libs/operate/pod_view.h"
#include "libs/operate/text.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

namespace core = k8s::io::api::core::v1;

template <class Quantities>
void AddQuantities(Fields& lines, std::string_view head, const Quantities& map) {
  if (map.empty()) return;
  lines.Raw(fmt::format("    {}:\n", head));
  std::map<std::string, std::string> sorted;
  for (const auto& [name, quantity] : map) sorted[name] = quantity.string();
  for (const auto& [name, text] : sorted)
    lines.Raw(fmt::format("      {}:{:{}}{}\n", OneLine(name), "",
                          name.size() < 10 ? 11 - name.size() : 1, OneLine(text)));
}

void AddState(Fields& lines, std::string_view key, const core::ContainerState& state) {
  if (state.has_running()) {
    lines.Add(key, "Running");
    lines.Add("  Started", TimeText(state.running().started_at()));
  } else if (state.has_terminated()) {
    const auto& end = state.terminated();
    lines.Add(key, "Terminated");
    lines.AddIf("  Reason", end.reason());
    lines.AddIf("  Message", end.message());
    lines.Add("  Exit Code", fmt::format("{}", end.exit_code()));
    lines.Add("  Started", TimeText(end.started_at()));
    lines.Add("  Finished", TimeText(end.finished_at()));
  } else if (state.has_waiting()) {
    lines.Add(key, "Waiting");
    lines.AddIf("  Reason", state.waiting().reason());
    lines.AddIf("  Message", state.waiting().message());
  }
}

std::string Joined(const auto& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void AddContainer(Fields& out, const core::Container& spec, const core::ContainerStatus* status) {
  Fields lines(4, 20);
  if (status != nullptr) lines.AddIf("Container ID", status->container_id());
  lines.Add("Image", spec.image());
  if (status != nullptr) lines.AddIf("Image ID", status->image_id());
  lines.AddIf("Command", Joined(spec.command()));
  lines.AddIf("Args", Joined(spec.args()));
  if (status != nullptr) {
    AddState(lines, "State", status->state());
    AddState(lines, "Last State", status->last_state());
    lines.Add("Ready", status->ready() ? "True" : "False");
    lines.Add("Restart Count", fmt::format("{}", status->restart_count()));
  }
  AddQuantities(lines, "Limits", spec.resources().limits());
  AddQuantities(lines, "Requests", spec.resources().requests());
  out.Raw(fmt::format("  {}:\n", OneLine(spec.name())) + lines.text());
}

template <class Specs, class Statuses>
void AddContainers(Fields& out, std::string_view head, const Specs& specs,
                   const Statuses& statuses) {
  if (specs.empty()) return;
  out.Head(head);
  for (const core::Container& spec : specs) {
    const auto found =
        std::ranges::find_if(statuses, [&spec](const auto& s) { return s.name() == spec.name(); });
    AddContainer(out, spec, found == statuses.end() ? nullptr : &*found);
  }
}

void AddConditions(Fields& out, const core::PodStatus& status) {
  if (status.conditions_size() == 0) return;
  operate::Table table({"Type", "Status", "Reason"});
  for (const auto& c : status.conditions()) table.Add({c.type(), c.status(), c.reason()});
  out.Head("Conditions");
  out.Raw(operate::Indented(table.Text(), 2));
}

void AddVolumes(Fields& out, const core::PodSpec& spec) {
  if (spec.volumes_size() == 0) return;
  out.Head("Volumes");
  for (const auto& volume : spec.volumes()) {
    const auto& source = volume.volume_source();
    std::string kind = "of another kind";
    if (source.has_empty_dir()) kind = "emptyDir " + source.empty_dir().medium();
    if (source.has_host_path()) kind = "hostPath " + source.host_path().path();
    if (source.has_config_map())
      kind = "configMap " + source.config_map().local_object_reference().name();
    if (source.has_secret()) kind = "secret " + source.secret().secret_name();
    out.Add("  " + volume.name(), kind);
  }
}

/// The records of splitlet's processes, which kubectl cannot show.
void AddProcesses(Fields& out, const operate::PodView& view) {
  out.Head("Processes");
  Fields lines(2, 18);
  if (view.desired != nullptr)
    lines.Add("config-source", fmt::format("{}, source {}, incarnation {}, generation {}",
                                           v1::DesiredRecord::State_Name(view.desired->state()),
                                           view.desired->source(), view.desired->incarnation(),
                                           view.desired->generation()));
  if (view.desired != nullptr) lines.AddIf("  problem", view.desired->problem());
  if (view.admission != nullptr)
    lines.Add(
        "sync-loop",
        fmt::format("{} {} {}", v1::AdmissionRecord::Decision_Name(view.admission->decision()),
                    view.admission->reason(), view.admission->message()));
  if (view.worker != nullptr) {
    lines.Add("pod-worker", fmt::format("{}{}", v1::WorkerState_Name(view.worker->state()),
                                        view.worker->granted() ? ", granted" : ""));
    lines.AddIf("  refused", view.worker->refusal());
    lines.AddIf("  sync error", view.worker->sync_error());
    lines.AddIf("  waiting", view.worker->admission_reason());
    for (const auto& waiting : view.worker->containers())
      lines.AddIf("  " + waiting.name(),
                  waiting.reason() + (waiting.message().empty() ? "" : ": " + waiting.message()));
  }
  if (view.runtime != nullptr) {
    lines.Add("pleg",
              fmt::format("{} sandboxes, {} containers", view.runtime->pod().sandboxes_size(),
                          view.runtime->pod().containers_size()));
    lines.AddIf("  problem", view.runtime->inspect_error());
  }
  out.Raw(lines.text());
}

}  // namespace

std::string DescribePod(const operate::PodView& view,
                        const std::vector<std::shared_ptr<v1::EventRecord>>& events, WallTime now) {
  const core::Pod& pod = *view.pod;
  const PodRow row = MakePodRow(view, now);
  Fields out;
  out.Add("Name", view.name);
  out.Add("Namespace", view.name_space);
  out.Add("UID", view.uid);
  out.AddIf("Node", pod.spec().node_name());
  if (pod.status().has_start_time()) out.Add("Start Time", TimeText(pod.status().start_time()));
  out.Add("Labels", MapText(pod.metadata().labels()));
  out.Add("Annotations", MapText(pod.metadata().annotations()));
  out.Add("Status", row.status);
  out.AddIf("Reason", pod.status().reason());
  out.AddIf("Message", pod.status().message());
  out.AddIf("IP", row.ip);
  AddContainers(out, "Init Containers", pod.spec().init_containers(),
                pod.status().init_container_statuses());
  AddContainers(out, "Containers", pod.spec().containers(), pod.status().container_statuses());
  AddConditions(out, pod.status());
  AddVolumes(out, pod.spec());
  out.AddIf("QoS Class", pod.status().qos_class());
  AddProcesses(out, view);
  AddEvents(out, events, now);
  return out.text();
}

}  // namespace splitlet::ctl
