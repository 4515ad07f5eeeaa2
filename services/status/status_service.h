#pragma once

/// The process status: what the API shows of pods and of the node, and the events.
/// It routes: each input goes to the part whose state it changes.
/// In:    views desired, admission, workers, runtime, pressure; answers of the other processes to
/// health calls; events recorded by all of them; a pass over everything each 10 s; the node as the
/// API server has it.
/// Owns:  table `podstatus`: pod UID -> API status with version; key `node` -> NodeRecord. The
/// parts own the state: StatusTable, NodeStatus, PeerMonitor, EventStore, EventFile, and, where
/// there is an API server, NodeSync, NodeLease, PodsAtServer and Identity.
/// Out:   puts to `podstatus`; at the API server the Node and its Lease, statuses of pods, mirror
/// pods and events; the node's certificates.
/// Killed at any line: nothing is lost but events of the last seconds; the next start computes
/// every record again from its views.
/// Threads: loop thread only.
/// Errors: as said at each.
/// Source: docs/safety.md, rules 20 to 24.

#include <memory>
#include <string>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/apiclient/transport.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "libs/node/addresses.h"
#include "libs/peers/peer_health.h"
#include "services/status/api/lease/lease.h"
#include "services/status/api/node/node_sync.h"
#include "services/status/api/pods/pods_at_server.h"
#include "services/status/config.h"
#include "services/status/events/event_file.h"
#include "services/status/events/event_store.h"
#include "services/status/identity/identity.h"
#include "services/status/metrics.h"
#include "services/status/node/node_status.h"
#include "services/status/node/peer_monitor.h"
#include "services/status/pods/status_table.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

struct StatusDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  fs::FileSystem& files;
  bus::Table<v1::PodStatusRecord> table;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::AdmissionRecord> admission;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  bus::View<v1::PressureRecord> pressure;
  std::unique_ptr<peers::PeerHealth> peers;
  node::ListAddresses list_addresses;   // on a strand
  node::ResolveName resolve_name = {};  // likewise; null: the node's name is not looked up
  Log log;
  prometheus::Registry& metrics;
  // The API server, a connection for each purpose; null: this node has none.
  std::unique_ptr<apiclient::Transport> node_api = nullptr, lease_api = nullptr, pods_api = nullptr;
  apiclient::WaitUntil api_wait = nullptr;  // how strands wait for it; not set: on the real clock
  /// By the bootstrap kubeconfig; null: there is none.
  std::unique_ptr<apiclient::Transport> bootstrap_api = nullptr;
  std::unique_ptr<peers::NodeImages> images = nullptr;  // null: nobody knows them
  // Asked before something is deleted at the server; there where `pods_api` is.
  std::shared_ptr<FinishedPods> finished = nullptr;
  std::shared_ptr<peers::DesiredOwner> owner = nullptr;
};

class StatusService {
 public:
  StatusService(StatusDeps deps, StatusConfig config);
  StatusService(const StatusService&) = delete;
  StatusService& operator=(const StatusService&) = delete;

  void Start();
  /// Gives up calls of the API server that are under way.
  void BeginStop();
  daemon::Health GetHealth() const;
  /// That the node has not the addresses it was told to have.
  std::vector<std::string> Notes() const;

  /// Computed from what is known now; "node" is the node. NOT_FOUND for a pod that is not wanted
  /// here; UNAVAILABLE before the views were live once.
  StatusOr<std::unique_ptr<v1::PodStatusRecord>> GetPodStatus(const std::string& uid);
  /// Computes every record again, now.
  void Flush();
  void OnEvents(std::vector<v1::EventRecord> events);
  std::vector<v1::EventRecord> ListEvents(const std::string& uid) const;

 private:
  void OnReconcileTimer();
  void OnServerNode(const kube::Node& node);
  void OnAddresses();
  /// Of the node, as pods show them.
  const std::vector<std::string>& host_ips() const {
    return config_.node.external_cloud ? cloud_ips_ : node_.addresses();
  }
  void ListenToViews();
  apiclient::Client::Options ApiOptions() const;
  std::shared_ptr<apiclient::Client> PodsClient(const daemon::ApiRate& rate);
  void MakeNodeApi();
  void MakePodsApi();
  void MakeIdentity();

  StatusDeps deps_;
  StatusConfig config_;
  StatusMetrics metrics_;
  EventStore events_;
  EventFile event_file_;
  PeerMonitor peers_;
  NodeStatus node_;
  // Of an external cloud, which says where the node is reached.
  std::vector<NodeAddress> cloud_addresses_;  // as the server has them
  std::vector<std::string> cloud_ips_;        // that pods show
  bool server_knows_node_ = false;            // it was shown since the start
  StatusTable pods_;
  std::unique_ptr<exec::Periodic> reconcile_;
  std::shared_ptr<apiclient::ClientMetrics> api_metrics_;  // null: no API server
  std::unique_ptr<NodeSync> node_sync_;                    // null: no API server
  std::unique_ptr<NodeLease> lease_;                       // null: no API server
  std::unique_ptr<PodsAtServer> server_pods_;              // null: no API server
  Random random_;
  std::unique_ptr<Identity> identity_;  // null: no API server
};

}  // namespace splitlet::status
