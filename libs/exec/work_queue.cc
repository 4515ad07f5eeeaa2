#include "libs/exec/work_queue.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace splitlet::exec {

Duration Backoff::Next(const std::string& key, Random* random) {
  Entry& entry = entries_[key];
  const Clock::Time now = clock_.Now();
  const bool unused = entry.since && now - entry.since > 2 * options_.max;
  if (!entry.since || unused) {
    entry.wait = options_.initial;
  } else {
    entry.wait = std::min(2 * entry.wait, options_.max);
  }
  entry.since = now;
  if (random == nullptr || options_.jitter == 0) return entry.wait;
  const Duration jittered = random->Jitter(entry.wait, options_.jitter);
  entry.since = now + (jittered - entry.wait);  // Remaining() counts the jitter too
  return jittered;
}

Duration Backoff::Remaining(const std::string& key) const {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return Duration{0};
  return std::max(Duration{0}, it->second.since + it->second.wait - clock_.Now());
}

void Backoff::Reset(const std::string& key) { entries_.erase(key); }

void Backoff::Collect() {
  const Clock::Time now = clock_.Now();
  std::erase_if(entries_, [&](const auto& e) { return now - e.second.since > 2 * options_.max; });
}

WorkQueue::WorkQueue(EventLoop& loop, const Clock& clock,
                     std::function<void(const std::string&)> work)
    : loop_(loop), clock_(clock), work_(std::move(work)) {}

WorkQueue::~WorkQueue() { loop_.CancelTimer(timer_); }

void WorkQueue::Add(const std::string& key, Duration delay) {
  const Clock::Time at = clock_.Now() + delay;
  const auto it = due_.find(key);
  if (it != due_.end() && it->second <= at) return;
  Remove(key);
  due_[key] = at;
  const auto inserted = by_time_.emplace(at, key);
  if (inserted == by_time_.begin()) Arm();
}

void WorkQueue::Remove(const std::string& key) {
  const auto it = due_.find(key);
  if (it == due_.end()) return;
  const auto [first, last] = by_time_.equal_range(it->second);
  by_time_.erase(std::find_if(first, last, [&key](const auto& e) { return e.second == key; }));
  due_.erase(it);
}

void WorkQueue::Arm() {
  loop_.CancelTimer(timer_);
  timer_ = 0;
  if (by_time_.empty()) return;
  timer_ = loop_.RunAfter(std::max(Duration{0}, by_time_.begin()->first - clock_.Now()), [this] {
    timer_ = 0;
    RunDue();
  });
}

void WorkQueue::RunDue() {
  const Clock::Time now = clock_.Now();
  // Keys that are added during this work get a later turn, so that the loop is not blocked.
  const std::vector<std::pair<Clock::Time, std::string>> ready(by_time_.begin(),
                                                               by_time_.upper_bound(now));
  for (const auto& [at, key] : ready) {
    const auto it = due_.find(key);
    if (it == due_.end() || it->second != at) continue;  // removed or moved by the work before it
    Remove(key);
    work_(key);
  }
  Arm();
}

}  // namespace splitlet::exec
