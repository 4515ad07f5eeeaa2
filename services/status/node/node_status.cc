#include "services/status/node/node_status.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/base/fail_point.h"
#include "libs/bus/names.h"
#include "libs/daemon/event_record.h"

namespace splitlet::status {
namespace {

std::vector<std::string> MissingCapacity(const std::optional<node::NodeResources>& resources) {
  std::vector<std::string> missing;
  for (const std::string name : {"cpu", "memory", "pods", "ephemeral-storage"})
    if (!resources || !resources->capacity.contains(name)) missing.push_back(name);
  return missing;
}

v1::NodeTaint MakeTaint(const std::string& key, const std::string& value,
                        const std::string& effect) {
  v1::NodeTaint taint;
  taint.set_key(key);
  taint.set_value(value);
  taint.set_effect(effect);
  return taint;
}

bool SameStatuses(const std::vector<v1::NodeCondition>& a,
                  const std::vector<v1::NodeCondition>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.type() == other.type() && one.status() == other.status();
  });
}

}  // namespace

NodeStatus::NodeStatus(Deps deps, const StatusConfig& config)
    : deps_(std::move(deps)), config_(config), asker_(deps_.env.loop, deps_.env.strands) {}

void NodeStatus::ReadSoon() {
  if (!machine_) ReadMachineSoon();
  ReadAddressesSoon();  // every time: the network may come up later or change
}

void NodeStatus::ReadMachineSoon() {
  if (deps_.env.strands.Pending("machine") > 0) return;
  asker_.Ask(
      "machine",
      [&files = deps_.files, root_dir = config_.root_dir] {
        return node::ReadMachine(files, root_dir);
      },
      [this](const StatusOr<node::Machine>& machine) { OnMachine(machine); });
}

void NodeStatus::ReadAddressesSoon() {
  if (deps_.env.strands.Pending("addresses") > 0) return;
  asker_.Ask(
      "addresses",
      [&files = deps_.files, list = deps_.list_addresses, resolve = deps_.resolve_name,
       ips = config_.node_ips, name = config_.node_name] {
        return node::ReadAddresses({files, list, resolve}, {.ips = ips, .node_name = name});
      },
      [this](const StatusOr<std::vector<std::string>>& addresses) { OnAddresses(addresses); });
}

/// As in a kubelet, the old addresses stay until there are new ones.
void NodeStatus::OnAddresses(const StatusOr<std::vector<std::string>>& addresses) {
  const std::string problem = addresses.ok() ? "" : Message(addresses.status());
  if (problem != address_problem_ && !problem.empty())
    deps_.env.log.Error("cannot find an address of the node, will retry",
                        {KV("err", addresses.status())});
  address_problem_ = problem;
  const bool refused = addresses.status().code() == StatusCode::kInvalidArgument;
  refused_addresses_ = refused ? Message(addresses.status()) : "";
  if (!addresses.ok() || *addresses == addresses_) return;
  addresses_ = *addresses;
  Refresh();
  deps_.on_addresses();
}

void NodeStatus::OnMachine(const StatusOr<node::Machine>& machine) {
  if (!machine.ok()) {
    const std::string problem = ToString(machine.status());
    if (problem != machine_problem_)
      deps_.env.log.Error("cannot read capacity of the machine, will retry",
                          {KV("err", machine.status())});
    machine_problem_ = problem;
    return;
  }
  const auto resources = node::ComputeNodeResources(*machine, config_.limits);
  if (!resources.ok()) {
    machine_problem_ = Message(resources.status());
    deps_.env.log.Error("reserved resources exceed the capacity, the node has no record",
                        {KV("err", resources.status())});
    return;
  }
  machine_ = *machine;
  resources_ = *resources;
  machine_problem_.clear();
  Refresh();
}

void NodeStatus::Refresh() {
  if (!machine_ || !resources_) return;
  const auto pressure = deps_.pressure.Find(bus::kNodeKey);
  auto conditions = ComputeNodeConditions(
      {.ledger = deps_.peers.ledger(),
       .runtime = deps_.peers.runtime(),
       .pressure = pressure.get(),
       .missing_capacity = MissingCapacity(resources_),
       .storage_problem = deps_.storage_problem ? deps_.storage_problem() : std::string(),
       .before = conditions_,
       .now = deps_.env.clock.WallNow()});
  RecordEvents(conditions);
  const bool changed = !SameStatuses(conditions_, conditions);
  conditions_ = std::move(conditions);
  v1::NodeRecord node;
  node.set_name(config_.node_name);
  AddLabelsAndTaints(node);
  for (const auto& [name, amount] : resources_->capacity)
    (*node.mutable_capacity())[name] = amount.ToString();
  for (const auto& [name, amount] : resources_->allocatable)
    (*node.mutable_allocatable())[name] = amount.ToString();
  AddDevices(node);
  AddAttachedVolumes(node);
  if (deps_.add_reported) deps_.add_reported(node);
  for (const auto& ip : addresses_) node.add_addresses(ip);
  for (const auto& ip : deps_.host_ips()) node.add_host_ips(ip);
  *node.mutable_features() = deps_.peers.runtime().features;
  node.mutable_features()->set_apparmor(machine_->apparmor);
  node.mutable_features()->set_selinux(machine_->selinux);
  for (const auto& condition : conditions_) {
    *node.add_conditions() = condition;
    if (condition.type() == "Ready")
      deps_.metrics.node_ready.Set(condition.status() == "True" ? 1 : 0);
  }
  PutNode(std::move(node));
  if (changed) deps_.on_conditions();
}

/// Adds the devices that pod-worker knows from device plugins.
void NodeStatus::AddDevices(v1::NodeRecord& node) const {
  const auto worker = deps_.workers.Find(bus::kNodeKey);
  if (worker == nullptr) return;
  for (const auto& device : worker->node().devices()) {
    (*node.mutable_capacity())[device.name()] = fmt::format("{}", device.capacity());
    (*node.mutable_allocatable())[device.name()] = fmt::format("{}", device.allocatable());
  }
}

void NodeStatus::AddAttachedVolumes(v1::NodeRecord& node) const {
  if (!server_node_) return;
  for (const auto& [name, device] : server_node_->attached) {
    auto& volume = *node.add_volumes_attached();
    volume.set_name(name);
    volume.set_device_path(device);
  }
}

void NodeStatus::OnServerNode(const kube::Node& node) {
  ServerNode seen;
  for (const auto& [name, value] : node.metadata().labels()) seen.labels[name] = value;
  for (const auto& taint : node.spec().taints())
    seen.taints.push_back(MakeTaint(taint.key(), taint.value(), taint.effect()));
  for (const auto& volume : node.status().volumes_attached())
    seen.attached[volume.name()] = volume.device_path();
  server_node_ = std::move(seen);
  Refresh();
}

/// Until the server shows this node, the record has the labels and taints of the registration.
void NodeStatus::AddLabelsAndTaints(v1::NodeRecord& node) const {
  std::map<std::string, std::string> labels;
  if (server_node_) {
    node.set_registered(true);
    labels = server_node_->labels;
    for (const auto& taint : server_node_->taints) *node.add_taints() = taint;
  } else if (config_.in_cluster) {
    labels = InitialLabels(config_.node);
    for (const auto& taint : config_.node.taints)
      *node.add_taints() = MakeTaint(taint.key, taint.value, taint.effect);
  } else {
    for (const auto& [name, value] : node::OwnLabels(config_.node_name)) labels[name] = value;
  }
  for (const auto& [name, value] : labels) (*node.mutable_labels())[name] = value;
}

void NodeStatus::PutNode(v1::NodeRecord node) {
  const auto before = deps_.table.Get(bus::kNodeKey);
  v1::PodStatusRecord record;
  record.set_name(config_.node_name);
  record.set_version(before == nullptr ? 0 : before->version());
  *record.mutable_node() = std::move(node);
  if (before != nullptr && bus::SerializeSorted(*before) == bus::SerializeSorted(record)) return;
  const auto wall_ms = static_cast<uint64_t>(ToNanos(deps_.env.clock.WallNow()) / 1'000'000);
  record.set_version(std::max(record.version() + 1, wall_ms));
  FAIL_POINT_VOID("status.put-node.before");
  deps_.env.log.LogIfError(deps_.table.Put(bus::kNodeKey, record),
                           "publish the record of the node");
  FAIL_POINT_VOID("status.put-node.after");
}

void NodeStatus::RecordEvents(const std::vector<v1::NodeCondition>& after) {
  std::vector<v1::EventRecord> events;
  for (const auto& condition : ConditionsToRecord(recorded_, after)) {
    const std::string reason = ConditionEvent(condition);
    events.push_back(daemon::RecordOf(daemon::NodeEvent(
        config_.node_name,
        {.reason = reason, .message = "Node " + config_.node_name + " status is now: " + reason})));
    deps_.env.log.Info("node condition changed",
                       {KV("node", config_.node_name), KV("condition", condition.type()),
                        KV("status", condition.status()), KV("reason", condition.message())});
  }
  for (const auto& condition : after)
    if (condition.status() != "Unknown") recorded_[condition.type()] = condition.status();
  if (!events.empty()) deps_.record_events(std::move(events));
}

}  // namespace splitlet::status
