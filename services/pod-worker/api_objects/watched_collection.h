#pragma once

/// All objects of one kind, watched, for kinds that pods do not reference by name.
/// In:      lists and events of the API server.
/// Owns:    the needed part of each object.
/// Out:     the callbacks of Start, when the first list has come or has failed, and for changes.
/// Killed:  the next start lists again.
/// Threads: the loop's; objects() is a value.
/// Errors:  trouble(): why the first list is missing. Known objects stay while the server is away.
/// Source:  docs/behaviour/objects.md, "From an API server".

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/pod-worker/api_objects/referenced_objects.h"

namespace splitlet::pod_worker {

class WatchedCollection {
 public:
  using Object = apiclient::Reflector::Object;
  using Objects = std::map<std::string, Object>;  // by "<namespace>/<name>", or name
  struct Options {
    std::string path;
    const google::protobuf::Message* item = nullptr;
    const google::protobuf::Message* list = nullptr;
    std::string (*key)(const google::protobuf::Message& object) = nullptr;
    /// The part of an object that is kept; null: all of it.
    Object (*part)(const google::protobuf::Message& object) = nullptr;
  };
  WatchedCollection(const ApiContext& context, Options options);
  ~WatchedCollection();

  /// `on_answer`: also when the first list fails. `on_change`: after the first list; may be empty.
  void Start(std::function<void()> on_answer, std::function<void()> on_change = {});
  /// The present objects; null: not known yet.
  std::shared_ptr<const Objects> objects() const { return objects_; }
  /// The first list came or failed. A list without a kubeconfig, which a TLS bootstrap is still
  /// making, is no failure.
  bool answered() const { return objects_ != nullptr || (!trouble_.ok() && !IsAwaited(trouble_)); }
  const Status& trouble() const { return trouble_; }

 private:
  Object PartOf(const Object& object) const;
  void OnList(std::vector<Object> objects);
  void OnEvent(apiclient::Reflector::Event event, const Object& object);
  void OnSync(const Status& status);

  const Options options_;
  std::function<void()> on_answer_, on_change_;
  std::shared_ptr<Objects> objects_;  // a shared one is copied before a change
  Status trouble_;
  apiclient::Reflector reflector_;
};

}  // namespace splitlet::pod_worker
