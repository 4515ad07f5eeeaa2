#pragma once

/// Lists a collection of an API server and then watches it for ever, like client-go's Reflector.
/// In:      the pages of a list, the events of a watch.
/// Owns:    the last resource version; no objects.
/// Out:     OnList with all objects of a list, OnEvent with each later change, OnSync when the
///          server becomes unreachable or reachable.
/// Killed:  the next start lists.
/// Threads: the loop's; decodes on the given strand.
/// Errors:  410 or an unreadable event: lists again. Other errors: tries again after a back-off of
///          0.8 s to 30 s with jitter, or as Retry-After says; logs each error once while it stays
///          the same. After the end of a watch another continues from its last event. An
///          unreachable server never removes an object.
/// Source:  docs/behaviour/api-client.md, "Lists and watches"; client-go tools/cache Reflector.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/exec.h"

namespace splitlet::apiclient {

class Reflector {
 public:
  // an object of the prototype's type
  using Object = std::shared_ptr<const google::protobuf::Message>;
  enum class Event { kAdded, kModified, kDeleted };

  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    Transport& transport;
    Random& random;
    Log log;
    std::shared_ptr<ClientMetrics> metrics;  // null: none
  };
  struct Options {
    std::string path;            // path of a collection: "/api/v1/pods"
    std::string field_selector;  // "spec.nodeName=n1"; empty: none
    ContentType content = ContentType::kProtobuf;
    int page_size = 500;
    /// Prototypes of an item and of the list.
    const google::protobuf::Message* item = nullptr;
    const google::protobuf::Message* list = nullptr;
    /// True: the first list has the server's newest version. False: it may come from an older copy,
    /// which may contradict what an earlier run of this process saw.
    bool newest = false;
    std::string strand;  // key of the strand for decoding
  };
  struct Callbacks {
    std::function<void(std::vector<Object> objects)> on_list;
    std::function<void(Event event, Object object)> on_event;
    /// OK: listed and watching; else the reason. Called at each change.
    std::function<void(const Status& status)> on_sync;
  };

  Reflector(Deps deps, Options options, Callbacks callbacks);
  /// Ends the running requests; no callback runs afterwards.
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void Start();
  const Status& sync() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace splitlet::apiclient
