#include "services/pod-worker/api_objects/referenced_objects.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/apiclient/client.h"

namespace splitlet::pod_worker {

namespace {

using Proto = google::protobuf::Message;
using Meta = k8s::io::apimachinery::pkg::apis::meta::v1::ObjectMeta;

constexpr Duration kTtl = 60s;
/// An object that was read for a sync is fresh enough for it.
constexpr Duration kJustRead = 1s;
constexpr Duration kRetry = 1s;
/// The server's authorizer learns of a pod a little later than its watchers do. A refusal in that
/// time is retried after kSoon. All of it is within the wait of a sync (ApiCache::kWait).
constexpr Duration kEarly = 800ms, kSoon = 200ms;

template <class T>
const T& As(const Proto& object) {
  return static_cast<const T&>(object);
}

template <class T, class List>
ReferencedObjects::Kind KindOf(std::string_view name, std::string_view path) {
  return {name,
          path,
          &T::default_instance(),
          &List::default_instance(),
          [](const Proto& object) -> const Meta& { return As<T>(object).metadata(); },
          [](const Proto& object) { return As<T>(object).immutable(); }};
}

}  // namespace

struct ReferencedObjects::Entry {
  uint64_t number = 0;         // tells entries of the same name apart
  std::set<std::string> pods;  // UIDs; never empty
  std::unique_ptr<apiclient::Reflector> watch;
  bool known = false;  // `object` is an answer of the server
  Object object;       // null: there is no such object
  Status trouble;      // error of the last read
  bool asking = false;
  std::optional<Clock::Time> read_at, failed_at;
  std::optional<Clock::Time> refused_at;  // of the first refusal, while nothing is known
};

ReferencedObjects::Kind ReferencedObjects::ConfigMaps() {
  return KindOf<ConfigMap, k8s::io::api::core::v1::ConfigMapList>("configmap", "configmaps");
}

ReferencedObjects::Kind ReferencedObjects::Secrets() {
  return KindOf<Secret, k8s::io::api::core::v1::SecretList>("secret", "secrets");
}

ReferencedObjects::Kind ReferencedObjects::ServiceAccounts() {
  return {"serviceaccount",
          "serviceaccounts",
          &ServiceAccount::default_instance(),
          &k8s::io::api::core::v1::ServiceAccountList::default_instance(),
          [](const Proto& object) -> const Meta& { return As<ServiceAccount>(object).metadata(); },
          [](const Proto& /*object*/) { return false; }};
}

ReferencedObjects::ReferencedObjects(Deps deps, Kind kind) : deps_(std::move(deps)), kind_(kind) {}

ReferencedObjects::~ReferencedObjects() = default;

void ReferencedObjects::Hold(const std::string& uid, const std::string& name_space,
                             const std::set<std::string>& names) {
  std::set<ObjectName> wanted;
  for (const auto& name : names) wanted.insert({name_space, name});
  auto before = std::exchange(names_[uid], wanted);
  for (const auto& name : wanted) {
    auto& entry = entries_[name];
    const bool is_new = entry == nullptr;
    if (is_new) {
      entry = std::make_unique<Entry>();
      entry->number = ++last_number_;
    }
    const bool joins = entry->pods.insert(uid).second;
    // A new pod must not get an object that is older than the pod.
    if (joins) entry->read_at.reset();
    if (is_new) Begin(name, *entry);
    before.erase(name);
  }
  for (const auto& name : before) {
    const auto found = entries_.find(name);
    found->second->pods.erase(uid);
    if (found->second->pods.empty()) entries_.erase(found);
  }
  if (wanted.empty()) names_.erase(uid);
}

void ReferencedObjects::Release(const std::string& uid) { Hold(uid, "", {}); }

void ReferencedObjects::Begin(const ObjectName& name, Entry& entry) {
  deps_.strategy == ChangeDetection::kWatch ? Watch(name, entry) : Read(name, entry);
}

void ReferencedObjects::Watch(const ObjectName& name, Entry& entry) {
  const ApiContext& context = deps_.context;
  apiclient::Reflector::Callbacks callbacks;
  callbacks.on_list = [this, name](std::vector<Object> objects) {
    OnObject(name, objects.empty() ? nullptr : std::move(objects.front()));
  };
  callbacks.on_event = [this, name](apiclient::Reflector::Event event, Object object) {
    const bool gone = event == apiclient::Reflector::Event::kDeleted;
    OnObject(name, gone ? nullptr : std::move(object));
  };
  callbacks.on_sync = [this, name](const Status& status) { OnTrouble(name, status); };
  const std::string path =
      fmt::format("/api/v1/namespaces/{}/{}", apiclient::Escaped(name.name_space), kind_.path);
  entry.watch = std::make_unique<apiclient::Reflector>(
      WatchDeps(context),
      apiclient::Reflector::Options{
          .path = path,
          .field_selector = "metadata.name=" + name.name,
          .content = context.content,
          .item = kind_.item,
          .list = kind_.list,
          .strand = fmt::format("{}/{}/{}", kind_.path, name.name_space, name.name)},
      std::move(callbacks));
  entry.watch->Start();
}

/// The watch of an immutable object ends, after this callback has returned.
void ReferencedObjects::OnObject(const ObjectName& name, Object object) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = *found->second;
  const auto version = [this](const Object& of) {
    return of == nullptr ? std::string()
                         : kind_.meta(*of).uid() + "/" + kind_.meta(*of).resource_version();
  };
  const bool same = entry.known && version(entry.object) == version(object);
  entry.known = true;
  entry.trouble = OkStatus();
  if (!same) entry.object = std::move(object);
  if (entry.watch != nullptr && entry.object != nullptr && kind_.immutable(*entry.object))
    deps_.context.loop.Post(
        [watch = std::shared_ptr<apiclient::Reflector>(std::move(entry.watch))] {});
  Report(entry, !same);
}

void ReferencedObjects::OnTrouble(const ObjectName& name, const Status& status) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = *found->second;
  if (ReadsSoonAgain(name, entry, status)) return;
  entry.trouble = status;
  if (!status.ok() && !entry.known) Report(entry, false);
}

bool ReferencedObjects::ReadsSoonAgain(const ObjectName& name, Entry& entry, const Status& status) {
  if (entry.known || status.code() != StatusCode::kPermissionDenied) return false;
  if (entry.asking) return true;
  const Clock::Time now = deps_.context.clock.Now();
  if (!entry.refused_at) entry.refused_at = now;
  if (now + kSoon - *entry.refused_at > kEarly) return false;
  entry.asking = true;
  deps_.context.loop.RunAfter(
      kSoon, [this, alive = std::weak_ptr<const bool>(alive_), name, number = entry.number] {
        if (!alive.expired()) ReadSoon(name, number);
      });
  return true;
}

void ReferencedObjects::ReadSoon(const ObjectName& name, uint64_t number) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second->number != number) return;
  Entry& entry = *found->second;
  entry.asking = false;
  if (!entry.known) Read(name, entry);
}

void ReferencedObjects::Read(const ObjectName& name, Entry& entry) {
  entry.asking = true;
  const std::string path =
      fmt::format("/api/v1/namespaces/{}/{}/{}", apiclient::Escaped(name.name_space), kind_.path,
                  apiclient::Escaped(name.name));
  std::shared_ptr<Proto> into(kind_.item->New());
  deps_.calls.Get(path, into, [this, name, number = entry.number, into](const Status& status) {
    OnRead(name, number, status, into);
  });
}

void ReferencedObjects::OnRead(const ObjectName& name, uint64_t number, const Status& status,
                               const Object& object) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second->number != number) return;
  Entry& entry = *found->second;
  entry.asking = false;
  // The watch is newer than this read.
  if (deps_.strategy == ChangeDetection::kWatch && entry.known) return;
  if (ReadsSoonAgain(name, entry, status)) return;
  const bool answered = status.ok() || status.code() == StatusCode::kNotFound;
  (answered ? entry.read_at : entry.failed_at) = deps_.context.clock.Now();
  if (answered) return OnObject(name, status.ok() ? object : nullptr);
  const bool watch_failed = entry.watch != nullptr && !entry.watch->sync().ok();
  entry.trouble = watch_failed ? entry.watch->sync() : status;
  Report(entry, false);
}

/// A callback may release a pod, or change its references.
void ReferencedObjects::Report(const Entry& entry, bool changed) {
  for (const auto& uid : std::set<std::string>(entry.pods)) deps_.on_answer(uid, changed);
}

bool ReferencedObjects::IsFresh(const Entry& entry) const {
  const bool immutable = entry.known && entry.object != nullptr && kind_.immutable(*entry.object);
  if (immutable) return true;
  const Clock::Time now = deps_.context.clock.Now();
  if (entry.failed_at && now - *entry.failed_at < kRetry) return true;
  const Duration age = deps_.strategy == ChangeDetection::kGet ? kJustRead : kTtl;
  return entry.read_at && now - *entry.read_at < age;
}

bool ReferencedObjects::Refresh(const std::string& uid) {
  const auto names = names_.find(uid);
  if (names == names_.end()) return true;
  bool all = true;
  for (const auto& name : names->second) {
    Entry& entry = *entries_.at(name);
    if (deps_.strategy == ChangeDetection::kWatch) {
      all = all && (entry.known || !entry.trouble.ok());
      continue;
    }
    if (!entry.asking && !IsFresh(entry)) Read(name, entry);
    all = all && !entry.asking;
  }
  return all;
}

StatusOr<ReferencedObjects::Object> ReferencedObjects::Find(const ObjectName& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    return Unavailable("object \"{}\"/\"{}\" not registered", name.name_space, name.name);
  const Entry& entry = *found->second;
  if (!entry.known)
    return Unavailable(
        "failed to sync {} cache: {}", kind_.name,
        entry.trouble.ok() ? "timed out waiting for the condition" : Message(entry.trouble));
  if (entry.object == nullptr) return NotFound("{} \"{}\" not found", kind_.name, name.name);
  return entry.object;
}

size_t ReferencedObjects::watches() const {
  return static_cast<size_t>(std::ranges::count_if(
      entries_, [](const auto& entry) { return entry.second->watch != nullptr; }));
}

}  // namespace splitlet::pod_worker
