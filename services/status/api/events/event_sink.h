#pragma once

/// Events, brought to the API server: one is made, and counted up when it comes again.
/// In:      what the store has taken, each time.
/// Owns:    what waits to be sent, at most 1000 and one of each event; under which names those of
///          the last hour are known.
/// Out:     makes and patches Event objects.
/// Killed:  at any line: what waits is lost, as the store is; names are not used again, so that
///          nothing is made twice.
/// Threads: the loop's; calls on one strand.
/// Errors:  one that the server refuses is dropped and logged. One that does not reach it is tried
///          12 times, 10 s apart, behind those that wait; then it is dropped and counted.
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
#include "libs/exec/exec.h"
#include "services/status/api/pod_metrics.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

namespace core = k8s::io::api::core::v1;

class EventSink {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<apiclient::Client> client;  // with the limits of events
    std::string node_name;
    /// Resource version of the pod with this UID; may say nothing.
    std::function<std::string(const std::string& uid)> pod_version;
    PodApiMetrics& metrics;
    Log log;
    uint64_t seed = 1;  // of jitter
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

  /// Gives up what is under way.
  void BeginStop() { stop_->Cancel(); }

  /// `key`: which event it is; `event` with all its occurrences so far. `is_new`: the store did not
  /// know it, so that earlier ones are another event.
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
    bool made = false;  // the server has an earlier count of it
    int attempts = 0;
    Clock::Time not_before;
  };
  struct Known {
    Name name;
    std::list<std::string>::iterator used;
  };
  using Queue = std::list<Waiting>;  // next first

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
  std::list<std::string> used_;  // keys of known_, longest ago first
  std::string sending_;          // key of the one that is on its way; empty: none
  int failures_ = 0;             // in a row
  bool logged_ = false;          // these failures
  int64_t last_ns_ = 0;          // in names
  exec::TimerId timer_ = 0;
  std::shared_ptr<bool> alive_;
};

/// The object of the API, without its own name.
core::Event EventOf(const v1::EventRecord& record, const std::string& node_name,
                    const std::string& pod_version);

}  // namespace splitlet::status
