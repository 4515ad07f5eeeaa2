#pragma once

/// The events of the last hour about pods and the node. Repeated and similar events are combined as
/// in Kubernetes, and the number of events is bounded.
/// Threads: the owner's.
/// Errors: none; displaced events are counted.
/// Source: docs/behaviour/status.md, "Events".

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "libs/base/clock.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class EventStore {
 public:
  struct Options {
    size_t max_events = 1000;
    size_t max_keys = 4096;  // in buckets_ and in groups_
    Duration keep = std::chrono::hours{1};
    uint32_t similar = 10;  // this many distinct messages are combined into one event
    Duration similar_window = std::chrono::seconds{600};
    double burst = 25;  // for each source, object and type
    Duration refill = std::chrono::seconds{300};
  };
  enum class Result {
    kNew,
    kCounted,
    kSpam,  // kept and counted, but over the rate limit: not sent to the API server
  };

  EventStore(const Clock& clock, Options options) : clock_(clock), options_(options) {}
  explicit EventStore(const Clock& clock) : EventStore(clock, Options{}) {}

  /// Unset times of `event` become now, an unset count becomes 1.
  Result Record(v1::EventRecord event);
  /// Adds events of an earlier start, which are older than all recorded since.
  void Restore(std::vector<v1::EventRecord> older);
  /// Events of one object, or of all objects if `uid` is empty, in the order of their last
  /// occurrence.
  std::vector<v1::EventRecord> List(const std::string& uid) const;
  /// The event that was recorded last, with its occurrences since this start, as a kubelet sends
  /// them to the API server; and its key.
  v1::EventRecord newest() const;
  const std::string& newest_key() const { return *events_.back().key; }
  size_t size() const { return events_.size(); }
  /// Number of old events that were removed because there were too many.
  uint64_t displaced() const { return displaced_; }

 private:
  struct Kept {
    v1::EventRecord event;
    Clock::Time at;          // last occurrence by our clock; wall clocks of recorders may be wrong
    const std::string* key;  // in by_key_
    uint32_t restored = 0;   // occurrences before this start
    int64_t first_ns = 0;    // first occurrence since this start
  };
  using Events = std::list<Kept>;  // oldest occurrence first
  struct Bucket {
    double tokens = 0;
    Clock::Time at;
  };
  struct Group {
    std::map<std::string, bool> messages;
    Clock::Time at;
  };
  bool TakeToken(const v1::EventRecord& event);
  /// Marks the message as combined if the object has too many similar events.
  void Aggregate(v1::EventRecord& event);
  void Trim();

  const Clock& clock_;
  Options options_;
  Events events_;
  std::unordered_map<std::string, Events::iterator> by_key_;
  std::map<std::string, Bucket> buckets_;
  std::map<std::string, Group> groups_;
  uint64_t displaced_ = 0;
};

}  // namespace splitlet::status
