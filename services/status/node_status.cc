// The node's half of StatusService: the machine, the health of the other processes, the record
// `node`.

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "services/status/status_service.h"

namespace splitlet::status {
namespace {

/// Reason of the event when a condition changes between True and False; empty: none.
std::string EventReason(const v1::NodeCondition& condition) {
  const bool met = condition.status() == "True";
  if (condition.type() == "Ready") return met ? "NodeReady" : "NodeNotReady";
  if (condition.type() == "MemoryPressure")
    return met ? "NodeHasInsufficientMemory" : "NodeHasSufficientMemory";
  if (condition.type() == "DiskPressure")
    return met ? "NodeHasDiskPressure" : "NodeHasNoDiskPressure";
  if (condition.type() == "PIDPressure")
    return met ? "NodeHasInsufficientPID" : "NodeHasSufficientPID";
  return {};
}

std::vector<std::string> MissingCapacity(const std::optional<node::NodeResources>& resources) {
  std::vector<std::string> missing;
  for (const std::string name : {"cpu", "memory", "pods", "ephemeral-storage"})
    if (!resources || !resources->capacity.contains(name)) missing.push_back(name);
  return missing;
}

}  // namespace

void StatusService::ReadMachineSoon() {
  if (deps_.strands.Pending("machine") > 0) return;
  deps_.strands.Run("machine", [this, alive = alive_, &files = deps_.files, &loop = deps_.loop,
                                root_dir = config_.root_dir] {
    auto machine = node::ReadMachine(files, root_dir);
    loop.Post([this, alive, machine = std::move(machine)] {
      if (*alive) OnMachine(machine);
    });
  });
}

void StatusService::ReadAddressesSoon() {
  if (deps_.strands.Pending("addresses") > 0) return;
  deps_.strands.Run("addresses", [this, alive = alive_, &files = deps_.files, &loop = deps_.loop,
                                  list = deps_.list_addresses, wanted = config_.node_ips] {
    auto addresses = node::ReadAddresses(files, list, wanted);
    loop.Post([this, alive, addresses = std::move(addresses)] {
      if (*alive) OnAddresses(addresses);
    });
  });
}

/// Old ones stay while there are no others, as in a kubelet.
void StatusService::OnAddresses(const StatusOr<std::vector<std::string>>& addresses) {
  const std::string problem = addresses.ok() ? "" : ToString(addresses.status());
  if (problem != address_problem_ && !problem.empty())
    deps_.log.Error("no address of the node", {KV("err", addresses.status())});
  address_problem_ = problem;
  if (!addresses.ok() || *addresses == addresses_) return;
  addresses_ = *addresses;
  RefreshNode();
  MarkAll();  // pods show the node's address
}

void StatusService::OnMachine(const StatusOr<node::Machine>& machine) {
  if (!machine.ok()) {
    const std::string problem = ToString(machine.status());
    if (problem != machine_problem_)
      deps_.log.Error("cannot read the machine", {KV("err", machine.status())});
    machine_problem_ = problem;
    return;
  }
  const auto resources = node::ComputeNodeResources(*machine, config_.limits);
  if (!resources.ok()) {
    machine_problem_ = Message(resources.status());
    deps_.log.Error("impossible reservations", {KV("err", resources.status())});
    return;
  }
  machine_ = *machine;
  resources_ = *resources;
  machine_problem_.clear();
  RefreshNode();
}

void StatusService::AskPeers() {
  for (const auto& [process, limit] : config_.answer_limits) Ask(process);
}

void StatusService::Ask(const std::string& process) {
  const std::string key = "health/" + process;
  if (deps_.strands.Pending(key) > 0) return;
  deps_.strands.Run(
      key, [this, alive = alive_, name = process, &loop = deps_.loop, &peers = *deps_.peers,
            deadline = After(deps_.clock, config_.ask_timeout)] {
        auto answer = peers.Ask(name, deadline);
        loop.Post([this, alive, name, answer = std::move(answer)] {
          if (*alive) OnAnswer(name, answer);
        });
      });
}

void StatusService::AskSoon(const std::string& process) {
  if (std::exchange(asks_soon_, true)) return;
  deps_.loop.RunAfter(config_.ask_again, [this, alive = alive_, process] {
    if (!*alive) return;
    asks_soon_ = false;
    Ask(process);
  });
}

void StatusService::OnAnswer(const std::string& process,
                             const StatusOr<peers::PeerAnswer>& answer) {
  const auto now = deps_.clock.Now();
  const bool good = answer.ok() && answer->healthy;
  if (good) {
    ledger_.OnGood(process, now);
  } else {
    ledger_.OnBad(process, now, answer.ok() ? answer->reason : ToString(answer.status()));
  }
  if (process == "pleg") {
    // A pleg that has just started knows nothing yet, which says nothing of the runtime.
    if (answer.ok() && answer->runtime && (answer->runtime->known || !runtime_state_.known))
      runtime_state_ = *answer->runtime;
    runtime_state_.pleg_errors =
        answer.ok() && answer->runtime ? answer->runtime->pleg_errors : std::vector<std::string>();
  }
  if (process == "pleg" && !runtime_state_.features.known()) AskSoon(process);
  metrics_.unanswered.Add({{"process", process}})
      .Set(std::chrono::duration<double>(ledger_.AskedWithoutAnswer(process)).count());
  RefreshNode();
}

void StatusService::RefreshNode() {
  if (!machine_ || !resources_) return;
  const auto pressure = deps_.pressure.Find(bus::kNodeKey);
  auto conditions = ComputeNodeConditions({.ledger = ledger_,
                                           .runtime = runtime_state_,
                                           .pressure = pressure.get(),
                                           .missing_capacity = MissingCapacity(resources_),
                                           .before = node_conditions_,
                                           .now = deps_.clock.WallNow()});
  RecordNodeEvents(conditions);
  node_conditions_ = std::move(conditions);
  v1::NodeRecord node;
  node.set_name(config_.node_name);
  auto& labels = *node.mutable_labels();
  labels[std::string(kube::kHostnameLabel)] = config_.node_name;
  for (const std::string prefix : {"", "beta."}) {
    labels[prefix + std::string(kube::kOsLabel)] = "linux";
    labels[prefix + std::string(kube::kArchLabel)] = std::string(node::Architecture());
  }
  for (const auto& [name, amount] : resources_->capacity)
    (*node.mutable_capacity())[name] = amount.ToString();
  for (const auto& [name, amount] : resources_->allocatable)
    (*node.mutable_allocatable())[name] = amount.ToString();
  for (const auto& ip : addresses_) node.add_addresses(ip);
  *node.mutable_features() = runtime_state_.features;
  node.mutable_features()->set_apparmor(machine_->apparmor);
  node.mutable_features()->set_selinux(machine_->selinux);
  for (const auto& condition : node_conditions_) {
    *node.add_conditions() = condition;
    if (condition.type() == "Ready") metrics_.node_ready.Set(condition.status() == "True" ? 1 : 0);
  }
  PutNode(std::move(node));
}

void StatusService::PutNode(v1::NodeRecord node) {
  const auto before = deps_.table.Get(bus::kNodeKey);
  v1::PodStatusRecord record;
  record.set_name(config_.node_name);
  record.set_version(before == nullptr ? 0 : before->version());
  *record.mutable_node() = std::move(node);
  if (before != nullptr && bus::SerializeSorted(*before) == bus::SerializeSorted(record)) return;
  const auto wall_ms = static_cast<uint64_t>(ToNanos(deps_.clock.WallNow()) / 1'000'000);
  record.set_version(std::max(record.version() + 1, wall_ms));
  FAIL_POINT_VOID("status.put-node.before");
  deps_.log.LogIfError(deps_.table.Put(bus::kNodeKey, record), "put the node");
  FAIL_POINT_VOID("status.put-node.after");
}

void StatusService::RecordNodeEvents(const std::vector<v1::NodeCondition>& after) {
  std::vector<v1::EventRecord> events;
  for (const auto& condition : after) {
    const auto before =
        std::find_if(node_conditions_.begin(), node_conditions_.end(),
                     [&](const v1::NodeCondition& old) { return old.type() == condition.type(); });
    if (before == node_conditions_.end() || before->status() == condition.status()) continue;
    // What was met before anybody could see it is told, too: nobody else tells it.
    const bool seen_first = before->status() == "Unknown" && condition.status() == "True";
    if ((before->status() == "Unknown" && !seen_first) || condition.status() == "Unknown") continue;
    v1::EventRecord event;
    event.set_type("Normal");
    event.set_reason(EventReason(condition));
    event.set_message("Node " + config_.node_name + " status is now: " + event.reason());
    event.set_component("kubelet");
    event.set_kind("Node");
    event.set_namespace_("default");
    event.set_name(config_.node_name);
    event.set_uid(config_.node_name);
    deps_.log.Info("node condition changed",
                   {KV("node", config_.node_name), KV("condition", condition.type()),
                    KV("status", condition.status()), KV("reason", condition.message())});
    events.push_back(std::move(event));
  }
  if (!events.empty()) OnEvents(std::move(events));
}

}  // namespace splitlet::status
