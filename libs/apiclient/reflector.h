#pragma once

/// A collection of an API server, listed and then watched for ever: client-go's Reflector.
/// In:      the pages of a list, the events of a watch.
/// Owns:    the resource version that was seen last; no objects.
/// Out:     OnList with all of a list, OnEvent with each change after it, OnSync when the server
///          cannot be had or can again.
/// Killed:  the next start lists.
/// Threads: the loop's; decoding on the strand that it is given.
/// Errors:  410 and an event that cannot be read: listed anew. All others: tried again after a
///          back-off of 0.8 s to 30 s with jitter, or as Retry-After says; each is logged once
///          while it is the same. A watch that ends goes on where it was. Nothing is ever taken
///          away because the server could not be asked.
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
  using Object = std::shared_ptr<const google::protobuf::Message>;  // of the prototype's type
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
    std::string path;            // of the collection: "/api/v1/pods"
    std::string field_selector;  // "spec.nodeName=n1"; empty: none
    ContentType content = ContentType::kProtobuf;
    int page_size = 500;
    /// Of an item, and of the list that the server gives.
    const google::protobuf::Message* item = nullptr;
    const google::protobuf::Message* list = nullptr;
    /// The first list is of what the server has now. Else it may be of a copy of it, in which
    /// something is missing, or there still, that an earlier start has seen otherwise.
    bool newest = false;
    std::string strand;  // key of the decoding
  };
  struct Callbacks {
    std::function<void(std::vector<Object> objects)> on_list;
    std::function<void(Event event, Object object)> on_event;
    /// OK: the list is there and the watch goes on; else why not. When it changes.
    std::function<void(const Status& status)> on_sync;
  };

  Reflector(Deps deps, Options options, Callbacks callbacks);
  /// Gives up what is under way; no callback after it.
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
