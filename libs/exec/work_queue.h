#pragma once

/// Keys to work on, each at most once at a time, with exponential back-off after failures.
/// Threads: the loop thread only; nothing fails.

#include <functional>
#include <map>
#include <string>

#include "libs/base/random.h"
#include "libs/exec/exec.h"

namespace splitlet::exec {

/// Doubles from `initial` to `max`, per key; a key unused for 2 x max starts again at `initial`.
/// Only computes: it neither waits nor sets timers.
class Backoff {
 public:
  struct Options {
    Duration initial;
    Duration max;
    double jitter = 0;
  };
  Backoff(const Clock& clock, Options options) : clock_(clock), options_(options) {}
  /// Counts a failure and returns the time to wait from now. First: initial.
  Duration Next(const std::string& key, Random* random = nullptr);
  /// The rest of the wait; 0 if none.
  Duration Remaining(const std::string& key) const;
  void Reset(const std::string& key);
  /// Drops keys unused for 2 x max.
  void Collect();
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Duration wait{0};
    Clock::Time since;
  };
  const Clock& clock_;
  Options options_;
  std::map<std::string, Entry> entries_;
};

class WorkQueue {
 public:
  WorkQueue(EventLoop& loop, const Clock& clock, std::function<void(const std::string& key)> work);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  /// Works on `key` after `delay`; a key that waits already keeps the earlier time.
  void Add(const std::string& key, Duration delay = Duration{0});
  void Remove(const std::string& key);
  bool Contains(const std::string& key) const { return due_.contains(key); }
  size_t size() const { return due_.size(); }

 private:
  void Arm();
  void RunDue();
  EventLoop& loop_;
  const Clock& clock_;
  std::function<void(const std::string&)> work_;
  std::map<std::string, Clock::Time> due_;
  std::multimap<Clock::Time, std::string> by_time_;
  TimerId timer_ = 0;
};

}  // namespace splitlet::exec
