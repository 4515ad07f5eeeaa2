#pragma once

/// The record of the node: capacity, labels, addresses, conditions. The one writer of conditions
/// and of their events.
/// In:    the machine and its addresses, read when StatusService says; the state of PeerMonitor;
/// the pressure that gc puts; labels and taints that the API server has, where there is one.
/// Owns:  key `node` of table `podstatus`; the conditions as last put and as events last told them.
/// Out:   puts to `podstatus`; events of conditions that change, of pressures with each start.
/// Killed at any line: nothing is lost; the next start reads the machine again.
/// Threads: loop thread; machine and addresses on strands.
/// Errors: a machine that cannot be read is in machine_problem(), and there is no record before.
/// Source: docs/safety.md, rule 24.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "libs/node/addresses.h"
#include "services/status/config.h"
#include "services/status/metrics.h"
#include "services/status/node/conditions.h"
#include "services/status/node/peer_monitor.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class NodeStatus {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    bus::Table<v1::PodStatusRecord>& table;
    const bus::View<v1::PressureRecord>& pressure;
    const bus::View<v1::WorkerRecord>& workers;
    const PeerMonitor& peers;
    node::ListAddresses list_addresses;   // on a strand
    node::ResolveName resolve_name = {};  // likewise; null: the node's name is not looked up
    StatusMetrics& metrics;
    const Log& log;
    std::function<void(std::vector<v1::EventRecord>)> record_events;
    std::function<void()> on_addresses;  // pods show the node's address
    /// Now, as pods show them: those of an external cloud, or those that were found.
    std::function<const std::vector<std::string>&()> host_ips;
    std::function<void()> on_conditions;  // the status of one has changed
  };
  NodeStatus(Deps deps, const StatusConfig& config);
  ~NodeStatus();
  NodeStatus(const NodeStatus&) = delete;
  NodeStatus& operator=(const NodeStatus&) = delete;

  /// The machine until it is known, and its addresses.
  void ReadSoon();
  /// Computes the record, and puts it when it differs.
  void Refresh();
  /// As the API server has this node, from now on.
  void OnServerNode(const kube::Node& node);
  /// The last ones that were found.
  const std::vector<std::string>& addresses() const { return addresses_; }
  /// Why the machine is not known; empty: it is.
  const std::string& machine_problem() const { return machine_problem_; }
  /// Why the last look found no addresses; empty: it found some.
  const std::string& address_problem() const { return address_problem_; }
  /// Why the addresses of --node-ip can never be this node's; empty: they may.
  const std::string& refused_addresses() const { return refused_addresses_; }

 private:
  void ReadMachineSoon();
  void ReadAddressesSoon();
  void OnMachine(const StatusOr<node::Machine>& machine);
  void OnAddresses(const StatusOr<std::vector<std::string>>& addresses);
  void AddLabelsAndTaints(v1::NodeRecord& node) const;
  void AddDevices(v1::NodeRecord& node) const;
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
  std::map<std::string, std::string> recorded_;  // status that the last event told, by type
  struct ServerNode {
    std::map<std::string, std::string> labels;
    std::vector<v1::NodeTaint> taints;
  };
  std::optional<ServerNode> server_node_;  // none: the server has not shown it yet
  std::shared_ptr<bool> alive_;
};

}  // namespace splitlet::status
