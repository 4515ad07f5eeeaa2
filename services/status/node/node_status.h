#pragma once

/// The record of the node: capacity, labels, addresses, conditions. It alone writes conditions and
/// their events.
/// In:    the machine and its addresses, read when StatusService asks; the state of PeerMonitor;
///        the pressure that gc puts; labels and taints of the Node at the API server, if any.
/// Owns:  key `node` of table `podstatus`; the conditions last put and last reported by events.
/// Out:   puts to `podstatus`; an event for each condition that changes, and after a start for each
///        pressure.
/// Killed at any line: nothing is lost; the next start reads the machine again.
/// Threads: loop thread; machine and addresses are read on strands.
/// Errors: until the machine could be read there is no record; machine_problem() says why.
/// Source: docs/safety.md, rule 24.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "libs/node/addresses.h"
#include "services/status/config.h"
#include "services/status/metrics.h"
#include "services/status/node/conditions.h"
#include "services/status/node/peer_monitor.h"
#include "services/status/node_settings.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class NodeStatus {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    bus::Table<v1::PodStatusRecord>& table;
    const bus::View<v1::PressureRecord>& pressure;
    const bus::View<v1::WorkerRecord>& workers;
    const PeerMonitor& peers;
    node::ListAddresses list_addresses;   // called on a strand
    node::ResolveName resolve_name = {};  // called on a strand; null: no lookup of the node's name
    StatusMetrics& metrics;
    std::function<void(std::vector<v1::EventRecord>)> record_events;
    std::function<void()> on_addresses;  // the addresses have changed
    /// Addresses that pods show: those of an external cloud provider, else those of the machine.
    std::function<std::vector<std::string>()> host_ips;
    std::function<void()> on_conditions;  // the status of a condition has changed
    /// A message for the condition Ready; empty: no problem. Null: never a problem.
    std::function<std::string()> storage_problem = {};
    /// Adds what the API server has taken of this node; null: nothing.
    std::function<void(v1::NodeRecord&)> add_reported = {};
  };
  NodeStatus(Deps deps, const StatusConfig& config);
  NodeStatus(const NodeStatus&) = delete;
  NodeStatus& operator=(const NodeStatus&) = delete;

  /// Starts to read the addresses, and the machine until it is known.
  void ReadSoon();
  /// Computes the record, and puts it if it has changed.
  void Refresh();
  /// The node as the API server has it now.
  void OnServerNode(const kube::Node& node);
  /// The addresses that were found last.
  const std::vector<std::string>& addresses() const { return addresses_; }
  /// Why the machine could not be read; empty: it is known.
  const std::string& machine_problem() const { return machine_problem_; }
  /// Why the last search found no address; empty: it found some.
  const std::string& address_problem() const { return address_problem_; }
  /// Why the addresses of --node-ip can never be this node's; empty: they are valid.
  const std::string& refused_addresses() const { return refused_addresses_; }

 private:
  void ReadMachineSoon();
  void ReadAddressesSoon();
  void OnMachine(const StatusOr<node::Machine>& machine);
  void OnAddresses(const StatusOr<std::vector<std::string>>& addresses);
  void AddLabelsAndTaints(v1::NodeRecord& node) const;
  void AddDevices(v1::NodeRecord& node) const;
  void AddAttachedVolumes(v1::NodeRecord& node) const;
  void PutNode(v1::NodeRecord node);
  void RecordEvents(const std::vector<v1::NodeCondition>& after);

  Deps deps_;
  const StatusConfig& config_;
  std::optional<node::Machine> machine_;
  std::optional<node::NodeResources> resources_;
  std::vector<std::string> addresses_;
  std::string address_problem_, refused_addresses_;
  std::string machine_problem_ = "the machine has not been read yet";
  std::vector<v1::NodeCondition> conditions_;
  std::map<std::string, std::string> recorded_;  // type -> status, see ConditionsToRecord
  struct ServerNode {
    std::map<std::string, std::string> labels;
    std::vector<v1::NodeTaint> taints;
    std::map<std::string, std::string> attached;  // name of a volume -> path of its device
  };
  std::optional<ServerNode> server_node_;  // nothing: the server has not shown the node yet
  const exec::Asker asker_;                // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
