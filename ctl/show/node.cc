#include "ctl/show/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "ctl/show/fields.h"
#include "ctl/show/pods.h"
#include "ctl/show/time_text.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/kubelet_version.h"
#include "libs/kube/resources.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::ctl {
namespace {

namespace core = k8s::io::api::core::v1;

constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

void AddSystemInfo(const NodeFacts& facts, core::NodeSystemInfo& info) {
  info.set_machine_id(facts.system.machine_id);
  info.set_system_uuid(facts.system.system_uuid);
  info.set_boot_id(facts.system.boot_id);
  info.set_kernel_version(facts.system.kernel_version);
  info.set_os_image(facts.system.os_image);
  info.set_container_runtime_version(facts.runtime_version);
  info.set_kubelet_version(std::string(kube::kKubeletVersion));
  info.set_operating_system("linux");
  info.set_architecture(facts.architecture);
}

void AddConditions(const v1::NodeRecord& record, core::NodeStatus& status) {
  for (const auto& c : record.conditions()) {
    auto& condition = *status.add_conditions();
    condition.set_type(c.type());
    condition.set_status(c.status());
    condition.set_reason(c.reason());
    condition.set_message(c.message());
    if (c.since_wall_ns() != 0)
      condition.mutable_last_transition_time()->set_seconds(c.since_wall_ns() / 1'000'000'000);
  }
}

void AddFeatures(const v1::NodeRecord& record, core::NodeStatus& status) {
  if (!record.features().known()) return;
  status.mutable_features()->set_supplemental_groups_policy(
      record.features().supplemental_groups_policy());
  for (const auto& handler : record.features().handlers()) {
    auto& shown = *status.add_runtime_handlers();
    shown.set_name(handler.name());
    shown.mutable_features()->set_recursive_read_only_mounts(handler.recursive_read_only_mounts());
    shown.mutable_features()->set_user_namespaces(handler.user_namespaces());
  }
}

std::string AddressOf(const core::Node& node, std::string_view type) {
  for (const auto& address : node.status().addresses())
    if (address.type() == type) return address.address();
  return {};
}

std::string RolesOf(const core::Node& node) {
  std::set<std::string> roles;
  for (const auto& [label, value] : node.metadata().labels())
    if (label.starts_with(kRolePrefix) && label.size() > kRolePrefix.size())
      roles.insert(label.substr(kRolePrefix.size()));
  return OrNone(fmt::format("{}", fmt::join(roles, ",")));
}

std::string StatusOf(const core::Node& node) {
  std::string text = "Unknown";
  for (const auto& condition : node.status().conditions())
    if (condition.type() == "Ready") text = condition.status() == "True" ? "Ready" : "NotReady";
  return text + (node.spec().unschedulable() ? ",SchedulingDisabled" : "");
}

std::string TaintsOf(const core::Node& node) {
  std::string text;
  for (const auto& taint : node.spec().taints())
    text += fmt::format("{}{}{}{}:{}", text.empty() ? "" : "\n", taint.key(),
                        taint.value().empty() ? "" : "=", taint.value(), taint.effect());
  return OrNone(text);
}

template <class Quantities>
void AddCapacity(Fields& out, std::string_view head, const Quantities& map) {
  out.Head(head);
  std::map<std::string, std::string> sorted;
  for (const auto& [name, quantity] : map) sorted[name] = quantity.string();
  Fields lines(2, 21);
  for (const auto& [name, text] : sorted) lines.Add(name, text);
  out.Raw(lines.text());
}

void AddConditionTable(Fields& out, const core::NodeStatus& status) {
  operate::Table table({"Type", "Status", "LastTransitionTime", "Reason", "Message"});
  table.Add({"----", "------", "------------------", "------", "-------"});
  for (const auto& c : status.conditions())
    table.Add({c.type(), c.status(),
               c.has_last_transition_time() ? TimeText(c.last_transition_time()) : "<unknown>",
               c.reason(), c.message()});
  out.Head("Conditions");
  out.Raw(operate::Indented(table.Text(), 2));
}

void AddSystem(Fields& out, const core::NodeSystemInfo& info) {
  out.Head("System Info");
  Fields lines(2, 29);
  lines.Add("Machine ID", info.machine_id());
  lines.Add("System UUID", info.system_uuid());
  lines.Add("Boot ID", info.boot_id());
  lines.Add("Kernel Version", info.kernel_version());
  lines.Add("OS Image", info.os_image());
  lines.Add("Operating System", info.operating_system());
  lines.Add("Architecture", info.architecture());
  lines.Add("Container Runtime Version", info.container_runtime_version());
  lines.Add("Kubelet Version", info.kubelet_version());
  out.Raw(lines.text());
}

/// Requests and limits of pods.
struct Demand {
  kube::Resources requests, limits;
};

/// A quantity that does not parse counts as 0.
Demand DemandOf(const core::Pod& pod) {
  return {.requests = kube::PodRequests(pod).value_or(kube::Resources()),
          .limits = kube::PodLimits(pod).value_or(kube::Resources())};
}

kube::Quantity AllocatableOf(const core::Node& node, const std::string& name) {
  const auto& of =
      node.status().allocatable().empty() ? node.status().capacity() : node.status().allocatable();
  const auto found = of.find(name);
  if (found == of.end()) return {};
  return kube::Quantity::Parse(found->second.string()).value_or(kube::Quantity());
}

/// Formats "100m (5%)".
std::string Share(const kube::Quantity& amount, const kube::Quantity& whole) {
  const auto thousandths = static_cast<double>(whole.MilliValue());
  const double part = static_cast<double>(amount.MilliValue()) * 100;
  return fmt::format("{} ({}%)", amount.ToString(),
                     thousandths <= 0 ? 0 : static_cast<int64_t>(part / thousandths));
}

bool IsTerminal(const operate::PodView& view) {
  return view.pod != nullptr &&
         (view.pod->status().phase() == "Succeeded" || view.pod->status().phase() == "Failed");
}

/// Prints the table of pods. Returns the sum of their requests and limits.
Demand AddPods(Fields& out, const core::Node& node, const std::vector<operate::PodView>& pods,
               WallTime now) {
  operate::Table table({"Namespace", "Name", "CPU Requests", "CPU Limits", "Memory Requests",
                        "Memory Limits", "Age"});
  table.Add({"---------", "----", "------------", "----------", "---------------", "-------------",
             "---"});
  const kube::Quantity cpu = AllocatableOf(node, std::string(kube::kCpu));
  const kube::Quantity memory = AllocatableOf(node, std::string(kube::kMemory));
  Demand sum;
  size_t shown = 0;
  for (const operate::PodView& view : pods) {
    if (view.pod == nullptr || IsTerminal(view)) continue;
    const Demand demand = DemandOf(*view.pod);
    kube::AddTo(sum.requests, demand.requests);
    kube::AddTo(sum.limits, demand.limits);
    ++shown;
    table.Add({view.name_space, view.name, Share(kube::Of(demand.requests, kube::kCpu), cpu),
               Share(kube::Of(demand.limits, kube::kCpu), cpu),
               Share(kube::Of(demand.requests, kube::kMemory), memory),
               Share(kube::Of(demand.limits, kube::kMemory), memory),
               operate::Age(now, CreatedAt(view))});
  }
  out.Add("Non-terminated Pods", fmt::format("({} in total)", shown));
  if (shown > 0) out.Raw(operate::Indented(table.Text(), 2));
  return sum;
}

void AddAllocated(Fields& out, const core::Node& node, const Demand& sum) {
  operate::Table table({"Resource", "Requests", "Limits"});
  table.Add({"--------", "--------", "------"});
  std::set<std::string> names = {std::string(kube::kCpu), std::string(kube::kMemory),
                                 std::string(kube::kEphemeralStorage)};
  for (const auto& [name, quantity] : node.status().allocatable())
    if (name != "pods") names.insert(name);
  for (const std::string& name : names) {
    const kube::Quantity whole = AllocatableOf(node, name);
    table.Add({name, Share(kube::Of(sum.requests, name), whole),
               Share(kube::Of(sum.limits, name), whole)});
  }
  out.Head("Allocated resources");
  out.Raw("  (Total limits may be over 100 percent, i.e., overcommitted.)\n");
  out.Raw(operate::Indented(table.Text(), 2));
}

}  // namespace

std::shared_ptr<kube::Node> MakeNode(const v1::NodeRecord& record, const NodeFacts& facts) {
  auto node = std::make_shared<core::Node>();
  node->mutable_metadata()->set_name(record.name());
  for (const auto& [label, value] : record.labels())
    (*node->mutable_metadata()->mutable_labels())[label] = value;
  for (const auto& t : record.taints()) {
    auto& taint = *node->mutable_spec()->add_taints();
    taint.set_key(t.key());
    if (!t.value().empty()) taint.set_value(t.value());
    taint.set_effect(t.effect());
    if (t.key() == kUnschedulable) node->mutable_spec()->set_unschedulable(true);
  }
  auto& status = *node->mutable_status();
  for (const auto& [name, amount] : record.capacity())
    (*status.mutable_capacity())[name].set_string(amount);
  for (const auto& [name, amount] : record.allocatable())
    (*status.mutable_allocatable())[name].set_string(amount);
  for (const std::string& ip : record.addresses()) {
    auto& address = *status.add_addresses();
    address.set_type("InternalIP");
    address.set_address(ip);
  }
  auto& host = *status.add_addresses();
  host.set_type("Hostname");
  host.set_address(record.name());
  AddConditions(record, status);
  AddSystemInfo(facts, *status.mutable_node_info());
  AddFeatures(record, status);
  return node;
}

std::string NodeTable(const kube::Node& node, WallTime now, const NodeTableOptions& options) {
  std::vector<std::string> header = {"NAME", "STATUS", "ROLES", "AGE", "VERSION"};
  if (options.wide)
    header.insert(header.end(), {"INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION",
                                 "CONTAINER-RUNTIME"});
  operate::Table table(std::move(header));
  const auto& info = node.status().node_info();
  std::vector<std::string> row = {
      node.metadata().name(), StatusOf(node), RolesOf(node),
      operate::Age(now, node.metadata().creation_timestamp().seconds() * 1'000'000'000),
      OrNone(info.kubelet_version())};
  if (options.wide)
    row.insert(row.end(),
               {OrNone(AddressOf(node, "InternalIP")), OrNone(AddressOf(node, "ExternalIP")),
                OrNone(info.os_image()), OrNone(info.kernel_version()),
                OrNone(info.container_runtime_version())});
  table.Add(std::move(row));
  return table.Text(options.header);
}

std::string DescribeNode(const kube::Node& node, const std::vector<operate::PodView>& pods,
                         const EventList& events, WallTime now) {
  Fields out(0, 21);
  out.Add("Name", node.metadata().name());
  out.Add("Roles", RolesOf(node));
  out.Add("Labels", MapText(node.metadata().labels()));
  out.Add("Annotations", MapText(node.metadata().annotations()));
  out.Add("Taints", TaintsOf(node));
  out.Add("Unschedulable", node.spec().unschedulable() ? "true" : "false");
  AddConditionTable(out, node.status());
  out.Head("Addresses");
  Fields addresses(2, 21);
  for (const auto& address : node.status().addresses())
    addresses.Add(address.type(), address.address());
  out.Raw(addresses.text());
  AddCapacity(out, "Capacity", node.status().capacity());
  AddCapacity(out, "Allocatable", node.status().allocatable());
  AddSystem(out, node.status().node_info());
  const Demand sum = AddPods(out, node, pods, now);
  AddAllocated(out, node, sum);
  AddEvents(out, events, now);
  return out.text();
}

}  // namespace splitlet::ctl
