#include "services/status/status_service.h"

#include <utility>

#include "libs/apiclient/client_metrics.h"
#include "libs/bus/names.h"

namespace splitlet::status {

StatusService::StatusService(StatusDeps deps, StatusConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.metrics, config_.node_name),
      events_(deps_.clock),
      peers_({.clock = deps_.clock,
              .loop = deps_.loop,
              .strands = deps_.strands,
              .peers = *deps_.peers,
              .metrics = metrics_,
              .on_answer = [this] { node_.Refresh(); },
              .on_features = [this] { pods_.MarkAll(); }},
             config_),
      node_({.clock = deps_.clock,
             .loop = deps_.loop,
             .strands = deps_.strands,
             .files = deps_.files,
             .table = deps_.table,
             .pressure = deps_.pressure,
             .peers = peers_,
             .list_addresses = deps_.list_addresses,
             .metrics = metrics_,
             .log = deps_.log,
             .record_events = [this](auto events) { OnEvents(std::move(events)); },
             .on_addresses = [this] { pods_.MarkAll(); },
             .on_conditions =
                 [this] {
                   if (node_sync_ != nullptr) node_sync_->Kick();
                 }},
            config_),
      pods_({.clock = deps_.clock,
             .loop = deps_.loop,
             .table = deps_.table,
             .desired = deps_.desired,
             .admission = deps_.admission,
             .workers = deps_.workers,
             .runtime = deps_.runtime,
             .addresses = node_.addresses(),
             .features = peers_.runtime().features,
             .metrics = metrics_,
             .log = deps_.log},
            config_.worker_wait) {
  metrics_.node_name.Set(1);
  deps_.desired.OnChange([this](const auto& change) { pods_.OnDesired(change); });
  deps_.admission.OnChange(
      [this](const auto& change) { pods_.MarkChanged(change.key, change.traceparent); });
  deps_.workers.OnChange(
      [this](const auto& change) { pods_.MarkChanged(change.key, change.traceparent); });
  deps_.runtime.OnChange(
      [this](const auto& change) { pods_.MarkChanged(change.key, change.traceparent); });
  deps_.pressure.OnChange([this](const auto& change) {
    if (change.key == bus::kNodeKey) node_.Refresh();
  });
  deps_.desired.OnState([this] { pods_.OnViewState(); });
  deps_.admission.OnState([this] { pods_.OnViewState(); });
  deps_.workers.OnState([this] { pods_.OnViewState(); });
  deps_.runtime.OnState([this] { pods_.OnRuntimeState(); });
  MakeNodeApi();
}

apiclient::Client::Options StatusService::ApiOptions() const {
  return {.metrics = api_metrics_, .wait = deps_.api_wait};
}

void StatusService::MakeNodeApi() {
  if (deps_.node_api != nullptr || deps_.lease_api != nullptr)
    api_metrics_ = std::make_shared<apiclient::ClientMetrics>(deps_.metrics);
  if (deps_.node_api != nullptr)
    node_sync_ = std::make_unique<NodeSync>(
        NodeSync::Deps{.clock = deps_.clock,
                       .loop = deps_.loop,
                       .strands = deps_.strands,
                       .files = deps_.files,
                       .transport = *deps_.node_api,
                       .client = ApiOptions(),
                       .table = deps_.table,
                       .runtime = peers_.runtime(),
                       .images = deps_.images.get(),
                       .metrics = metrics_.node_api,
                       .log = deps_.log,
                       .on_node = [this](const kube::Node& node) { node_.OnServerNode(node); },
                       .record_events = [this](auto events) { OnEvents(std::move(events)); }},
        config_);
  if (deps_.lease_api != nullptr)
    lease_ = std::make_unique<NodeLease>(NodeLease::Deps{.clock = deps_.clock,
                                                         .loop = deps_.loop,
                                                         .strands = deps_.strands,
                                                         .transport = *deps_.lease_api,
                                                         .client = ApiOptions(),
                                                         .metrics = metrics_.node_api,
                                                         .log = deps_.log},
                                         config_);
}

void StatusService::Start() {
  CHECK(deps_.loop.IsCurrent());
  pods_.Start();
  reconcile_ = std::make_unique<exec::Periodic>(deps_.loop, config_.reconcile_period,
                                                [this] { OnReconcileTimer(); });
  node_.ReadSoon();
  peers_.AskAll();
  if (lease_ != nullptr) lease_->Start();
  if (node_sync_ != nullptr) node_sync_->Start();
}

void StatusService::BeginStop() {
  if (lease_ != nullptr) lease_->BeginStop();
  if (node_sync_ != nullptr) node_sync_->BeginStop();
}

daemon::Health StatusService::GetHealth() const {
  if (!node_.machine_problem().empty()) return {false, node_.machine_problem()};
  if (config_.in_cluster && !node_.refused_addresses().empty())
    return {false, node_.refused_addresses()};
  if (!pods_.MayPublish()) return {false, "desired or workers were not live yet"};
  return {};
}

void StatusService::OnReconcileTimer() {
  pods_.OnReconcile();
  node_.ReadSoon();
  peers_.AskAll();
  node_.Refresh();
}

void StatusService::Flush() {
  pods_.Flush();
  node_.Refresh();
}

StatusOr<std::unique_ptr<v1::PodStatusRecord>> StatusService::GetPodStatus(const std::string& uid) {
  if (bus::KeyOf(uid) != bus::kNodeKey) return pods_.Get(uid);
  auto record = deps_.table.Get(bus::kNodeKey);
  if (record != nullptr) return record;
  return Unavailable("not known yet: {}", uid);
}

void StatusService::OnEvents(std::vector<v1::EventRecord> events) {
  const uint64_t displaced = events_.displaced();
  for (auto& event : events) {
    const char* result = "new";
    switch (events_.Record(std::move(event))) {
      case EventStore::Result::kNew: break;
      case EventStore::Result::kCounted: result = "counted"; break;
      case EventStore::Result::kSpam: result = "spam"; break;
    }
    metrics_.events_handled.Add({{"result", result}}).Increment();
  }
  const auto gone = static_cast<double>(events_.displaced() - displaced);
  if (gone > 0) metrics_.events_handled.Add({{"result", "displaced"}}).Increment(gone);
  metrics_.events.Set(static_cast<double>(events_.size()));
}

std::vector<v1::EventRecord> StatusService::ListEvents(const std::string& uid) const {
  return events_.List(uid);
}

}  // namespace splitlet::status
