#pragma once

/// The events of the last hour about pods and the node, counted together as Kubernetes does, and
/// bounded.
/// Threads: the owner's.
/// Errors: none; what is left out is counted.
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
    size_t max_keys = 4096;  // of the two memories below
    Duration keep = std::chrono::hours{1};
    uint32_t similar = 10;  // from this many distinct messages on they are one event
    Duration similar_window = std::chrono::seconds{600};
    double burst = 25;  // for each source, object and type
    Duration refill = std::chrono::seconds{300};
  };
  enum class Result {
    kNew,
    kCounted,
    kSpam,  // kept and counted as the others, but too much to be told to anybody
  };

  EventStore(const Clock& clock, Options options) : clock_(clock), options_(options) {}
  explicit EventStore(const Clock& clock) : EventStore(clock, Options{}) {}

  /// Times and count of `event` are the recorder's where set, else now and 1.
  Result Record(v1::EventRecord event);
  /// Those that an earlier start has listed. What was recorded since is newer.
  void Restore(std::vector<v1::EventRecord> older);
  /// In the order of their last occurrence; of one object, or of all for an empty uid.
  std::vector<v1::EventRecord> List(const std::string& uid) const;
  /// Of the last one that was recorded: its occurrences since this start, as a kubelet tells the
  /// API server of them, and which one it is.
  v1::EventRecord newest() const;
  const std::string& newest_key() const { return *events_.back().key; }
  size_t size() const { return events_.size(); }
  /// Older ones that had to go to make room.
  uint64_t displaced() const { return displaced_; }

 private:
  struct Kept {
    v1::EventRecord event;
    Clock::Time
        at;  // of its last occurrence, by the clock here: the wall clocks of others may be wrong
    const std::string* key;  // in by_key_
    uint32_t restored = 0;   // occurrences before this start
    int64_t first_ns = 0;    // of the first since
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
  /// Puts the prefix before the message of an event that has too many relatives.
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
