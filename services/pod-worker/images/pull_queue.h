#pragma once

/// Which pull may begin when: in the order in which they were asked for, so many at once, so many
/// per second. A pull takes its place and its token when it begins, not when it is asked for, so
/// that many at once only come one after the other.
/// Threads: one at a time.
/// Errors:  none.
/// Source:  docs/behaviour/images.md, "Pulls".

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "services/pod-worker/images/token_bucket.h"

namespace splitlet::pod_worker {

/// A pull of one image for one incarnation of a pod.
struct PullRequest {
  std::string uid;
  int64_t incarnation = 0;
  std::string image;
  Clock::Time asked;
};

class PullQueue {
 public:
  struct Options {
    double per_second = 0, burst = 1;  // 0: no limit
    size_t at_once = 0;                // 0: no limit
  };
  PullQueue(const Clock& clock, Options options)
      : options_(options), tokens_(clock, options.per_second, options.burst) {}

  void Add(PullRequest pull) { waiting_.push_back(std::move(pull)); }
  /// The next one that may begin now; it counts until Done(). Those that nobody wants any more are
  /// left out and cost nothing.
  std::optional<PullRequest> TakeNext(const std::function<bool(const PullRequest&)>& wanted);
  void Done();
  /// How long until TakeNext may give one without a Done(); unset: not before that.
  std::optional<Duration> NextIn() const;
  size_t waiting() const { return waiting_.size(); }
  size_t running() const { return running_; }

 private:
  bool IsFull() const { return options_.at_once > 0 && running_ >= options_.at_once; }

  const Options options_;
  TokenBucket tokens_;
  std::deque<PullRequest> waiting_;
  size_t running_ = 0;
};

}  // namespace splitlet::pod_worker
