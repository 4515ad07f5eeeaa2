#pragma once

/// Sends events to the API server: creates an Event object, and raises its count when the event
/// occurs again.
/// In:      each event that the store has accepted.
/// Owns:    the queue of events to send, at most 1000, each event once; the object names of recent
///          events.
/// Out:     creates and patches Event objects.
/// Killed:  at any line: the queue is lost, as the store is. Names are never reused, so no event is
///          created twice.
/// Threads: the loop's; calls run on one strand.
/// Errors:  an event that the server refuses is logged and dropped. An event that does not reach
///          the server goes to the end of the queue and is tried 12 times, 10 s apart; then it is
///          dropped and counted.
/// Source:  docs/behaviour/status.md, "Events"; client-go tools/record.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "k8s.io/api/core/v1/event.pb.h"
#include "libs/apiclient/client.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/status/api/pod_metrics.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

namespace core = k8s::io::api::core::v1;

class EventSink {
 public:
  struct Deps {
    exec::Env env;
    std::shared_ptr<apiclient::Client> client;  // limited by eventRecordQPS and eventBurst
    std::string node_name;
    /// Resource version of the pod with this UID; empty: unknown.
    std::function<std::string(const std::string& uid)> pod_version;
    PodApiMetrics& metrics;
    uint64_t seed = 1;  // for jitter
  };
  struct Options {
    size_t max_waiting = 1000;
    size_t max_known = 4096;
    int max_attempts = 12;
    Duration retry = std::chrono::seconds{10};
  };
  EventSink(Deps deps, Options options);
  explicit EventSink(Deps deps) : EventSink(std::move(deps), Options{}) {}
  ~EventSink();
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  /// Cancels the running call.
  void BeginStop() { stop_->Cancel(); }

  /// `key` identifies the event; `event` counts all its occurrences so far. `is_new`: the store had
  /// forgotten earlier occurrences, so a new object is created.
  void OnEvent(const std::string& key, const v1::EventRecord& event, bool is_new);
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Name {
    std::string name_space, name;
  };
  struct Waiting {
    std::string key;
    v1::EventRecord event;
    Name name;
    bool made = false;  // the server has the object, with an earlier count
    int attempts = 0;
    Clock::Time not_before;
  };
  struct Known {
    Name name;
    std::list<std::string>::iterator used;
  };
  using Queue = std::list<Waiting>;  // the front is sent next

  void Drop(Queue::iterator entry, const char* result);
  void Remember(const std::string& key, const Name& name);
  Name NewName(const v1::EventRecord& event);
  void SendSoon(Duration delay);
  void SendNext();
  void OnSent(const std::string& key, uint32_t count, const Status& status);
  void OnUnreached(Queue::iterator entry, const Status& status);

  Deps deps_;
  Options options_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  Queue waiting_;
  std::unordered_map<std::string, Queue::iterator> by_key_;
  std::unordered_map<std::string, Known> known_;
  std::list<std::string> used_;  // keys of known_, least recently used first
  std::string sending_;          // key of the event in the running call; empty: none
  int failures_ = 0;             // in a row
  bool logged_ = false;          // these failures are logged
  int64_t last_ns_ = 0;          // in the newest object name
  exec::TimerId timer_ = 0;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

/// The Event object, without its own name and namespace.
core::Event EventOf(const v1::EventRecord& record, const std::string& node_name,
                    const std::string& pod_version);

}  // namespace splitlet::status
