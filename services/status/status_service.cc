#include "services/status/status_service.h"

#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/apiclient/client_metrics.h"
#include "libs/bus/names.h"
#include "services/status/api/node/node_volumes.h"

namespace splitlet::status {

StatusService::StatusService(StatusDeps deps, StatusConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.env.metrics, config_.node_name),
      events_(deps_.env.clock),
      event_file_({.env = deps_.env,
                   .files = deps_.files,
                   .directory = config_.run_dir + "/status/events",
                   .list = [this] { return events_.List(""); },
                   .on_read = [this](auto events) { OnEventsRead(std::move(events)); }}),
      peers_({.env = deps_.env,
              .peers = *deps_.peers,
              .metrics = metrics_,
              .on_answer = [this] { node_.Refresh(); },
              .on_features = [this] { pods_.MarkAll(); }},
             config_),
      node_({.env = deps_.env,
             .files = deps_.files,
             .table = deps_.table,
             .pressure = deps_.pressure,
             .workers = deps_.workers,
             .peers = peers_,
             .list_addresses = deps_.list_addresses,
             .resolve_name = deps_.resolve_name,
             .metrics = metrics_,
             .record_events = [this](auto events) { OnEvents(std::move(events)); },
             .on_addresses = [this] { OnAddresses(); },
             .host_ips = [this] { return HostIps(FoundAddresses()); },
             .on_conditions = [this] { ReportNodeSoon(); },
             .storage_problem = [this] { return csi_ == nullptr ? "" : csi_->problem(); },
             .add_reported = [this](v1::NodeRecord& node) { AddReported(node); }},
            config_),
      pods_({.env = deps_.env,
             .table = deps_.table,
             .desired = deps_.desired,
             .admission = deps_.admission,
             .workers = deps_.workers,
             .runtime = deps_.runtime,
             .addresses = host_ips_,
             .features = peers_.runtime().features,
             .metrics = metrics_,
             .sandbox_condition = config_.sandbox_condition,
             .on_published = [this](const std::string& key) { OnPublished(key); },
             .record_events = [this](auto events) { OnEvents(std::move(events)); }},
            config_.worker_wait),
      random_(config_.seed) {
  metrics_.node_name.Set(1);
  if (deps_.node_api != nullptr || deps_.lease_api != nullptr || deps_.pods_api != nullptr)
    api_metrics_ = std::make_shared<apiclient::ClientMetrics>(deps_.env.metrics);
  MakeCsi();
  MakeNodeApi();
  MakePodsApi();
  MakeIdentity();
  ListenToViews();
}

void StatusService::OnEventsRead(std::vector<v1::EventRecord> events) {
  events_.Restore(std::move(events));
  metrics_.events.Set(static_cast<double>(events_.size()));
}

void StatusService::OnPublished(const std::string& key) {
  if (server_pods_ != nullptr) server_pods_->OnStatus(key);
}

void StatusService::ReportNodeSoon() {
  if (node_sync_ != nullptr) node_sync_->Kick();
}

void StatusService::OnWorkerNode() {
  ReadCsiDrivers();
  node_.Refresh();
  if (node_sync_ != nullptr) node_sync_->OnVolumes();
}

/// A record that cannot be read says nothing; a removed one names no driver.
void StatusService::ReadCsiDrivers() {
  if (csi_ == nullptr) return;
  const auto record = deps_.workers.Find(bus::kNodeKey);
  if (record == nullptr && deps_.workers.Contains(bus::kNodeKey)) return;
  csi_->OnWorkerNode(deps_.workers.owner_start(),
                     record == nullptr ? v1::WorkerNode() : record->node());
}

void StatusService::AddReported(v1::NodeRecord& node) const {
  if (node_sync_ == nullptr) return;
  for (auto& name : node_sync_->ReportedVolumes()) node.add_volumes_in_use(std::move(name));
  csi_->AddOutcomes(node);
}

void StatusService::ListenToViews() {
  const auto mark = [this](const auto& change) {
    pods_.MarkChanged(change.key, change.traceparent);
  };
  deps_.desired.OnChange([this](const auto& change) {
    // Before pods_: it compares the new status with what the server shows now.
    if (server_pods_ != nullptr) server_pods_->OnDesired(change.key);
    pods_.OnDesired(change);
  });
  deps_.admission.OnChange(mark);
  deps_.workers.OnChange([this, mark](const auto& change) {
    if (change.key == bus::kNodeKey) return OnWorkerNode();
    mark(change);
    if (server_pods_ != nullptr) server_pods_->OnWorker(change.key);
  });
  deps_.runtime.OnChange(mark);
  deps_.pressure.OnChange([this](const auto& change) {
    if (change.key == bus::kNodeKey) node_.Refresh();
  });
  const auto on_state = [this] {
    pods_.OnViewState();
    if (server_pods_ != nullptr) server_pods_->OnViewState();
  };
  deps_.desired.OnState(on_state);
  deps_.admission.OnState([this] { pods_.OnViewState(); });
  deps_.workers.OnState([this, on_state] {
    on_state();
    // A new start of pod-worker may report the same drivers, which is no change of the record.
    // Before its table is complete, the record may be that of the earlier start.
    if (deps_.workers.LiveAndComplete()) ReadCsiDrivers();
  });
  deps_.runtime.OnState([this] { pods_.OnRuntimeState(); });
}

std::shared_ptr<apiclient::Client> StatusService::PodsClient(const daemon::ApiRate& rate) {
  auto options = ApiOptions();
  options.limiter = std::make_shared<apiclient::RateLimiter>(deps_.env.clock, rate.qps, rate.burst,
                                                             deps_.api_wait);
  return std::make_shared<apiclient::Client>(deps_.env.clock, *deps_.pods_api, std::move(options));
}

void StatusService::MakePodsApi() {
  if (deps_.pods_api == nullptr) return;
  server_pods_ =
      std::make_unique<PodsAtServer>(PodsAtServer::Deps{.env = deps_.env,
                                                        .client = PodsClient(config_.api_rate),
                                                        .events = PodsClient(config_.event_rate),
                                                        .finished = deps_.finished,
                                                        .owner = deps_.owner,
                                                        .table = deps_.table,
                                                        .desired = deps_.desired,
                                                        .workers = deps_.workers,
                                                        .node_name = config_.node_name,
                                                        .seed = config_.seed});
}

void StatusService::MakeIdentity() {
  if (config_.identity.kubeconfig.empty()) return;
  identity_ = std::make_unique<Identity>(IdentityDeps{.env = deps_.env,
                                                      .files = deps_.files,
                                                      .random = random_,
                                                      .api = deps_.node_api.get(),
                                                      .bootstrap = deps_.bootstrap_api.get()},
                                         config_.identity, [this] { ReportNodeSoon(); });
}

void StatusService::OnServerNode(const kube::Node& node) {
  csi_->OnNode(node);  // before node_: it decides whether the node may be Ready
  node_.OnServerNode(node);
  if (auto addresses = AddressesOf(node); server_addresses_ != addresses) {
    server_addresses_ = std::move(addresses);
    if (config_.node.external_cloud) OnAddresses();
  }
  const bool deleting = node.metadata().has_deletion_timestamp();
  if (server_pods_ != nullptr) server_pods_->OnNode(deleting ? "" : node.metadata().uid());
}

HostAddresses StatusService::FoundAddresses() const {
  return {.external_cloud = config_.node.external_cloud,
          .machine = node_.addresses(),
          .server = server_addresses_};
}

void StatusService::OnAddresses() {
  const HostAddresses found = FoundAddresses();
  host_ips_ = HostIps(found);
  if (found.external_cloud) node_.Refresh();  // the record of the node has the addresses too
  pods_.MarkAll();
  if (identity_ != nullptr)
    identity_->OnAddresses(
        CertificateAddresses(found, config_.identity.server_bootstrap, config_.node_name));
}

apiclient::Client::Options StatusService::ApiOptions() const {
  return {.content = config_.api_content, .metrics = api_metrics_, .wait = deps_.api_wait};
}

void StatusService::MakeCsi() {
  if (deps_.node_api == nullptr) return;
  csi_ = std::make_unique<CsiSync>(CsiSync::Deps{.env = deps_.env,
                                                 .transport = *deps_.node_api,
                                                 .client = ApiOptions(),
                                                 .metrics = metrics_.node_at_server,
                                                 .on_change = [this] { node_.Refresh(); }},
                                   config_);
}

void StatusService::MakeNodeApi() {
  if (deps_.node_api != nullptr)
    node_sync_ = std::make_unique<NodeSync>(
        NodeSync::Deps{.env = deps_.env,
                       .files = deps_.files,
                       .transport = *deps_.node_api,
                       .client = ApiOptions(),
                       .table = deps_.table,
                       .runtime = peers_.runtime(),
                       .images = deps_.images.get(),
                       .metrics = metrics_.node_at_server,
                       .volumes_in_use =
                           [this] { return VolumesInUse(deps_.workers.Find(bus::kNodeKey).get()); },
                       .on_node = [this](const kube::Node& node) { OnServerNode(node); },
                       .record_events = [this](auto events) { OnEvents(std::move(events)); }},
        config_);
  if (deps_.lease_api != nullptr)
    lease_ = std::make_unique<NodeLease>(NodeLease::Deps{.env = deps_.env,
                                                         .transport = *deps_.lease_api,
                                                         .client = ApiOptions(),
                                                         .metrics = metrics_.node_at_server},
                                         config_);
}

void StatusService::Start() {
  CHECK(deps_.env.loop.IsCurrent());
  event_file_.Start();
  pods_.Start();
  reconcile_ = std::make_unique<exec::Periodic>(deps_.env.loop, config_.reconcile_period,
                                                [this] { OnReconcileTimer(); });
  node_.ReadSoon();
  peers_.AskAll();
  if (identity_ != nullptr) identity_->Start();
  if (lease_ != nullptr) lease_->Start();
  if (node_sync_ != nullptr) node_sync_->Start();
}

void StatusService::BeginStop() {
  event_file_.BeginStop();
  if (identity_ != nullptr) identity_->BeginStop();
  if (server_pods_ != nullptr) server_pods_->BeginStop();
  if (lease_ != nullptr) lease_->BeginStop();
  if (csi_ != nullptr) csi_->BeginStop();
  if (node_sync_ != nullptr) node_sync_->BeginStop();
}

daemon::Health StatusService::GetHealth() const {
  if (!node_.machine_problem().empty()) return {false, node_.machine_problem()};
  if (config_.in_cluster && !node_.refused_addresses().empty())
    return {false, node_.refused_addresses()};
  if (!pods_.MayPublish()) return {false, "tables desired and workers were not live yet"};
  return {};
}

std::vector<std::string> StatusService::Notes() const {
  if (node_.address_problem().empty() || config_.node_ips.empty()) return {};
  return {node_.address_problem()};
}

void StatusService::OnReconcileTimer() {
  pods_.OnReconcile();
  if (server_pods_ != nullptr) server_pods_->OnReconcile();
  node_.ReadSoon();
  peers_.AskAll();
  node_.Refresh();
}

void StatusService::Flush() {
  pods_.Flush();
  node_.Refresh();
}

StatusOr<std::unique_ptr<v1::PodStatusRecord>> StatusService::GetPodStatus(const std::string& uid) {
  if (bus::KeyOf(uid) != bus::kNodeKey) return pods_.RefreshAndGet(uid);
  auto record = deps_.table.Get(bus::kNodeKey);
  if (record != nullptr) return record;
  return Unavailable("the record of the node is not known yet");
}

void StatusService::OnEvents(std::vector<v1::EventRecord> events) {
  const uint64_t displaced = events_.displaced();
  for (auto& event : events) {
    const char* result = "new";
    const EventStore::Result recorded = events_.Record(std::move(event));
    switch (recorded) {
      case EventStore::Result::kNew: break;
      case EventStore::Result::kCounted: result = "counted"; break;
      case EventStore::Result::kSpam: result = "spam"; break;
    }
    if (server_pods_ != nullptr && recorded != EventStore::Result::kSpam)
      server_pods_->OnEvent(events_.newest_key(), events_.newest(),
                            recorded == EventStore::Result::kNew);
    metrics_.events_handled.Add({{"result", result}}).Increment();
  }
  const auto gone = static_cast<double>(events_.displaced() - displaced);
  if (gone > 0) metrics_.events_handled.Add({{"result", "displaced"}}).Increment(gone);
  metrics_.events.Set(static_cast<double>(events_.size()));
  if (!events.empty()) event_file_.OnRecorded();
}

std::vector<v1::EventRecord> StatusService::ListEvents(const std::string& uid) const {
  return events_.List(uid);
}

}  // namespace splitlet::status
