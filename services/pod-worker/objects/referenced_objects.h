#pragma once

/// Objects of one kind that pods of this node name, each held once while a pod names it.
/// In:      which pods name what; answers of the API server.
/// Owns:    the objects, and a watch of each (strategy Watch), or when it was read last (Cache: up
///          to a minute before; Get: when the sync of a pod begins).
/// Out:     on_answer for each pod that names an object of which something was learnt.
/// Killed:  the next start reads them again.
/// Threads: the loop's; a watch decodes on a strand of its own.
/// Errors:  NOT_FOUND: there is none; UNAVAILABLE: not known yet, and a refusal counts as that for
///          its first 0.8 s. What was known stays while the server is away.
/// Source:  docs/behaviour/objects.md, "From an API server"; kubelet watch_based_manager,
///          cache_based_manager. A node may read one only by its name, while a pod names it.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libs/apiclient/reflector.h"
#include "services/pod-worker/objects/api_calls.h"
#include "services/pod-worker/objects/object_source.h"

namespace k8s::io::apimachinery::pkg::apis::meta::v1 {
class ObjectMeta;
}

namespace splitlet::pod_worker {

enum class ChangeDetection { kWatch, kCache, kGet };

/// `changed`: another object, or another reason why there is none; else only an answer.
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

  /// These and no others are what the pod names from now on.
  void Hold(const std::string& uid, const std::string& name_space,
            const std::set<std::string>& names);
  void Release(const std::string& uid);
  /// Asks for what is too old for a sync. False: an answer is waited for.
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
  /// A refusal of the first questions may be early: it is waited for another answer.
  bool AsksSoon(const ObjectName& name, Entry& entry, const Status& status);
  void ReadSoon(const ObjectName& name, uint64_t number);
  void Tell(const Entry& entry, bool changed);
  bool IsFresh(const Entry& entry) const;

  const Deps deps_;
  const Kind kind_;
  std::map<ObjectName, std::unique_ptr<Entry>> entries_;
  std::map<std::string, std::set<ObjectName>> names_;  // by UID of the pod
  uint64_t last_number_ = 0;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace splitlet::pod_worker
