#include "services/pod-worker/api_objects/api_cache.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"
#include "services/pod-worker/api_objects/api_view.h"

namespace splitlet::pod_worker {

namespace {

using Proto = google::protobuf::Message;

std::string ServiceKey(const Proto& object) {
  const auto& meta = static_cast<const Service&>(object).metadata();
  return meta.namespace_() + "/" + meta.name();
}

/// Keeps only what variables are made of: a cluster may have thousands of services.
WatchedCollection::Object PartOfService(const Proto& object) {
  const auto& whole = static_cast<const Service&>(object);
  auto part = std::make_shared<Service>();
  part->mutable_metadata()->set_name(whole.metadata().name());
  part->mutable_metadata()->set_namespace_(whole.metadata().namespace_());
  part->mutable_spec()->set_cluster_ip(whole.spec().cluster_ip());
  part->mutable_spec()->set_type(whole.spec().type());
  *part->mutable_spec()->mutable_ports() = whole.spec().ports();
  return part;
}

std::string ClassKey(const Proto& object) {
  return static_cast<const RuntimeClass&>(object).metadata().name();
}

}  // namespace

ApiCache::ApiCache(ApiContext context, ChangeDetection strategy, NeedsAccount needs_account)
    : context_(std::move(context)),
      needs_account_(std::move(needs_account)),
      calls_(context_),
      config_maps_({context_, calls_, strategy,
                    [this](const std::string& uid, bool changed) { OnAnswer(uid, changed); }},
                   ReferencedObjects::ConfigMaps()),
      secrets_({context_, calls_, strategy,
                [this](const std::string& uid, bool changed) { OnAnswer(uid, changed); }},
               ReferencedObjects::Secrets()),
      // The API server lets a node read its pods' service accounts, but not watch them.
      accounts_({context_, calls_, ChangeDetection::kCache,
                 [this](const std::string& uid, bool changed) { OnAnswer(uid, changed); }},
                ReferencedObjects::ServiceAccounts()),
      claims_({context_, calls_,
               [this](const std::string& uid, bool changed) { OnAnswer(uid, changed); }}),
      tokens_({context_, calls_,
               [this](const std::string& uid, bool changed) { OnAnswer(uid, changed); }}),
      pull_accounts_(context_, calls_),
      services_(context_, {.path = "/api/v1/services",
                           .item = &Service::default_instance(),
                           .list = &k8s::io::api::core::v1::ServiceList::default_instance(),
                           .key = ServiceKey,
                           .part = PartOfService}),
      runtime_classes_(context_,
                       {.path = "/apis/node.k8s.io/v1/runtimeclasses",
                        .item = &RuntimeClass::default_instance(),
                        .list = &k8s::io::api::node::v1::RuntimeClassList::default_instance(),
                        .key = ClassKey}) {}

ApiCache::~ApiCache() = default;

void ApiCache::Start(OnChange on_change) {
  on_change_ = std::move(on_change);
  services_.Start([this] { OnCollection(); });
  runtime_classes_.Start([this] { OnCollection(); });
}

void ApiCache::Hold(const kube::Pod& pod, int64_t order) {
  const auto& meta = pod.metadata();
  const References names = ReferencesOf(pod);
  Pod& held = pods_[meta.uid()];
  held.name_space = meta.namespace_();
  held.names = names;
  held.needs_services = true;
  held.needs_classes = !pod.spec().runtime_class_name().empty();
  held.accounts.clear();
  if (needs_account_ && needs_account_(pod))
    held.accounts.insert(pod.spec().service_account_name());
  accounts_.Hold(meta.uid(), meta.namespace_(), held.accounts);
  config_maps_.Hold(meta.uid(), meta.namespace_(), names.config_maps);
  secrets_.Hold(meta.uid(), meta.namespace_(), names.secrets);
  claims_.Hold({meta.uid(), meta.namespace_(), order}, names.claims);
  tokens_.Hold({meta.uid(), meta.name(), meta.namespace_(), pod.spec().service_account_name()},
               names.tokens);
  pull_accounts_.Hold(meta.uid());
}

void ApiCache::HoldStatic(const std::string& uid) { pods_[uid] = {.needs_classes = true}; }

void ApiCache::Release(const std::string& uid) {
  if (pods_.erase(uid) == 0) return;
  config_maps_.Release(uid);
  secrets_.Release(uid);
  accounts_.Release(uid);
  claims_.Release(uid);
  tokens_.Release(uid);
  pull_accounts_.Release(uid);
}

bool ApiCache::AreListed(const Pod& pod) const {
  return (!pod.needs_services || services_.answered()) &&
         (!pod.needs_classes || runtime_classes_.answered());
}

/// Not again for a running pod: the UID of its account stays, and pulls read the annotations.
bool ApiCache::RefreshAccounts(const std::string& uid, const Pod& pod, bool is_new) {
  const auto is_known = [this, &pod](const std::string& name) {
    return accounts_.Find({pod.name_space, name}).ok();
  };
  if (!is_new && std::ranges::all_of(pod.accounts, is_known)) return true;
  return accounts_.Refresh(uid);
}

Duration ApiCache::Prepare(const std::string& uid, bool is_new) {
  Pod& pod = pods_.at(uid);
  const bool listed = AreListed(pod);
  bool all = listed;
  // No `&&` may skip a Refresh.
  all = config_maps_.Refresh(uid) && all;
  all = secrets_.Refresh(uid) && all;
  all = claims_.Refresh(uid) && all;
  all = RefreshAccounts(uid, pod, is_new) && all;
  const bool tokens = tokens_.Refresh(uid);
  all = all && tokens;
  const Clock::Time now = context_.clock.Now();
  if (!all && !pod.waits_since) pod.waits_since = now;
  const Duration most = is_new && !(listed && tokens) ? kFirstWait : kWait;
  const Duration left = all ? Duration{0} : *pod.waits_since + most - now;
  if (left > Duration{0}) return left;
  pod.waits_since.reset();
  return Duration{0};
}

void ApiCache::OnAnswer(const std::string& uid, bool changed) {
  const auto pod = pods_.find(uid);
  if (pod != pods_.end() && (changed || pod->second.waits_since)) on_change_(uid);
}

/// All pods: some wait for the list, others failed because it was missing.
void ApiCache::OnCollection() {
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : pods_) uids.push_back(uid);
  for (const auto& uid : uids) on_change_(uid);
}

std::shared_ptr<const ObjectSource> ApiCache::View(const std::string& uid) {
  const Pod& pod = pods_.at(uid);
  ApiView::Content content;
  for (const auto& name : pod.names.config_maps)
    content.config_maps.emplace(name, config_maps_.Find({pod.name_space, name}));
  for (const auto& name : pod.names.secrets)
    content.secrets.emplace(name, secrets_.Find({pod.name_space, name}));
  for (const auto& name : pod.accounts)
    content.accounts.emplace(name, accounts_.Find({pod.name_space, name}));
  content.claims = claims_.Of(uid);
  content.tokens = tokens_.Of(uid);
  content.services = services_.objects();
  content.runtime_classes = runtime_classes_.objects();
  content.runtime_classes_trouble = runtime_classes_.trouble();
  return std::make_shared<ApiView>(std::move(content));
}

std::shared_ptr<const ObjectSource> ApiCache::ViewBeside(
    std::shared_ptr<const ObjectSource> own) const {
  ApiView::Content content;
  content.services = services_.objects();
  content.runtime_classes = runtime_classes_.objects();
  content.runtime_classes_trouble = runtime_classes_.trouble();
  return std::make_shared<StaticView>(std::move(own),
                                      std::make_shared<ApiView>(std::move(content)));
}

ChangeDetection ChangeDetectionOf(const std::string& strategy) {
  if (strategy == "Cache") return ChangeDetection::kCache;
  return strategy == "Get" ? ChangeDetection::kGet : ChangeDetection::kWatch;
}

}  // namespace splitlet::pod_worker
