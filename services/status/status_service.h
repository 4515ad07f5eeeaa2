#pragma once

/// The process status: the API statuses of pods and of the node, and the events.
/// It routes: each input goes to the part that owns the state.
/// In:    views desired, admission, workers, runtime, pressure; health answers of the other
///        processes; events that all processes record; a pass over everything every 10 s; the node
///        as the API server has it.
/// Owns:  table `podstatus`: pod UID -> API status with version; key `node` -> NodeRecord. The
///        parts own the state: StatusTable, NodeStatus, PeerMonitor, EventStore, EventFile and,
///        with an API server, NodeSync, CsiSync, NodeLease, PodsAtServer and Identity.
/// Out:   puts to `podstatus`; at the API server the Node, its CSINode and its Lease, statuses of
///        pods, mirror pods and events; the node's certificates.
/// Killed at any line: events of the last seconds are lost, nothing else; the next start computes
///        every record again from its views.
/// Threads: loop thread only.
/// Errors: see each method.
/// Source: docs/safety.md, rules 20 to 24.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/apiclient/transport.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "libs/node/addresses.h"
#include "libs/peers/peer_health.h"
#include "services/status/api/csi/csi_sync.h"
#include "services/status/api/lease/lease.h"
#include "services/status/api/node/node_sync.h"
#include "services/status/api/pods/pods_at_server.h"
#include "services/status/config.h"
#include "services/status/events/event_file.h"
#include "services/status/events/event_store.h"
#include "services/status/identity/identity.h"
#include "services/status/metrics.h"
#include "services/status/node/host_addresses.h"
#include "services/status/node/node_status.h"
#include "services/status/node/peer_monitor.h"
#include "services/status/pods/status_table.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

struct StatusDeps {
  exec::Env env;
  fs::FileSystem& files;
  bus::Table<v1::PodStatusRecord> table;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::AdmissionRecord> admission;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  bus::View<v1::PressureRecord> pressure;
  std::unique_ptr<peers::PeerHealth> peers;
  node::ListAddresses list_addresses;   // called on a strand
  node::ResolveName resolve_name = {};  // called on a strand; null: no lookup of the node's name
  // A connection to the API server for each purpose; null: standalone node.
  std::unique_ptr<apiclient::Transport> node_api = nullptr, lease_api = nullptr, pods_api = nullptr;
  apiclient::WaitUntil api_wait =
      nullptr;  // how strands wait for an answer; null: on the real clock
  /// Connection of the bootstrap kubeconfig; null: there is none.
  std::unique_ptr<apiclient::Transport> bootstrap_api = nullptr;
  std::unique_ptr<peers::NodeImages> images = nullptr;  // null: images are not reported
  // Asked before an object is deleted at the server; set if `pods_api` is set.
  std::shared_ptr<FinishedPods> finished = nullptr;
  std::shared_ptr<peers::DesiredOwner> owner = nullptr;
};

class StatusService {
 public:
  StatusService(StatusDeps deps, StatusConfig config);
  StatusService(const StatusService&) = delete;
  StatusService& operator=(const StatusService&) = delete;

  void Start();
  /// Cancels running calls to the API server.
  void BeginStop();
  daemon::Health GetHealth() const;
  /// A note if the node does not have the addresses of --node-ip.
  std::vector<std::string> Notes() const;

  /// The status computed from the records of this moment; uid "node" is the node. NOT_FOUND: the
  /// pod is not wanted here. UNAVAILABLE: the views were not live yet.
  StatusOr<std::unique_ptr<v1::PodStatusRecord>> GetPodStatus(const std::string& uid);
  /// Computes every record again, now.
  void Flush();
  void OnEvents(std::vector<v1::EventRecord> events);
  std::vector<v1::EventRecord> ListEvents(const std::string& uid) const;

 private:
  void OnReconcileTimer();
  void OnEventsRead(std::vector<v1::EventRecord> events);
  /// A record of a pod was put or removed.
  void OnPublished(const std::string& key);
  void ReportNodeSoon();
  void OnWorkerNode();
  void ReadCsiDrivers();
  void AddReported(v1::NodeRecord& node) const;
  void OnServerNode(const kube::Node& node);
  void OnAddresses();
  HostAddresses FoundAddresses() const;
  void ListenToViews();
  apiclient::Client::Options ApiOptions() const;
  std::shared_ptr<apiclient::Client> PodsClient(const daemon::ApiRate& rate);
  void MakeNodeApi();
  void MakeCsi();
  void MakePodsApi();
  void MakeIdentity();

  StatusDeps deps_;
  StatusConfig config_;
  StatusMetrics metrics_;
  EventStore events_;
  EventFile event_file_;
  PeerMonitor peers_;
  NodeStatus node_;
  /// The addresses of the Node at the server; nothing: it was not shown since the start.
  std::optional<std::vector<NodeAddress>> server_addresses_;
  std::vector<std::string> host_ips_;  // addresses of the node that pods show
  StatusTable pods_;
  std::unique_ptr<exec::Periodic> reconcile_;
  std::shared_ptr<apiclient::ClientMetrics> api_metrics_;  // null: no API server
  std::unique_ptr<CsiSync> csi_;                           // null: no API server
  std::unique_ptr<NodeSync> node_sync_;                    // null: no API server
  std::unique_ptr<NodeLease> lease_;                       // null: no API server
  std::unique_ptr<PodsAtServer> server_pods_;              // null: no API server
  Random random_;
  std::unique_ptr<Identity> identity_;  // null: no API server
};

}  // namespace splitlet::status
