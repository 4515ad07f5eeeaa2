#pragma once

/// The objects of one kind that pods of this node reference. Each is held once, while a pod
/// references it, and read by its name: an API server allows a node no more than that.
/// In:      the references of pods; answers of the API server.
/// Owns:    the objects, and for each of them a watch (strategy Watch) or the time of its last
///          read. An object is read again after a minute (Cache), or for each sync (Get).
/// Out:     on_answer for each pod that references an object with an answer.
/// Killed:  the next start reads the objects again.
/// Threads: the loop's; each watch decodes on its own strand.
/// Errors:  NOT_FOUND: there is no such object. UNAVAILABLE: not known yet; a refusal counts as
///          that for 0.8 s. Known objects stay while the server is away.
/// Source:  docs/behaviour/objects.md, "From an API server"; kubelet watch_based_manager,
///          cache_based_manager.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libs/apiclient/reflector.h"
#include "services/pod-worker/api_objects/api_calls.h"
#include "services/pod-worker/objects/object_source.h"

namespace k8s::io::apimachinery::pkg::apis::meta::v1 {
class ObjectMeta;
}

namespace splitlet::pod_worker {

enum class ChangeDetection { kWatch, kCache, kGet };

/// `changed`: the answer differs from the one before.
using OnAnswer = std::function<void(const std::string& uid, bool changed)>;

class ReferencedObjects {
 public:
  using Object = apiclient::Reflector::Object;
  struct Kind {
    std::string_view name, path;  // "configmap", "configmaps"
    const google::protobuf::Message* item;
    const google::protobuf::Message* list;
    const k8s::io::apimachinery::pkg::apis::meta::v1::ObjectMeta& (*meta)(
        const google::protobuf::Message& object);
    bool (*immutable)(const google::protobuf::Message& object);
  };
  static Kind ConfigMaps();
  static Kind Secrets();
  static Kind ServiceAccounts();
  struct Deps {
    const ApiContext& context;
    ApiCalls& calls;
    ChangeDetection strategy;
    OnAnswer on_answer;
  };
  ReferencedObjects(Deps deps, Kind kind);
  ~ReferencedObjects();

  /// Replaces the names that the pod references.
  void Hold(const std::string& uid, const std::string& name_space,
            const std::set<std::string>& names);
  void Release(const std::string& uid);
  /// Reads the objects that are too old for a sync. False: an answer is missing.
  bool Refresh(const std::string& uid);
  StatusOr<Object> Find(const ObjectName& name) const;

  size_t size() const { return entries_.size(); }
  size_t watches() const;

 private:
  struct Entry;
  void Begin(const ObjectName& name, Entry& entry);
  void Watch(const ObjectName& name, Entry& entry);
  void Read(const ObjectName& name, Entry& entry);
  void OnObject(const ObjectName& name, Object object);
  void OnTrouble(const ObjectName& name, const Status& status);
  void OnRead(const ObjectName& name, uint64_t number, const Status& status, const Object& object);
  /// True: the refusal may be too early, so the read is repeated soon.
  bool ReadsSoonAgain(const ObjectName& name, Entry& entry, const Status& status);
  void ReadSoon(const ObjectName& name, uint64_t number);
  void Report(const Entry& entry, bool changed);
  bool IsFresh(const Entry& entry) const;

  const Deps deps_;
  const Kind kind_;
  std::map<ObjectName, std::unique_ptr<Entry>> entries_;
  std::map<std::string, std::set<ObjectName>> names_;  // by UID of the pod
  uint64_t last_number_ = 0;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace splitlet::pod_worker
