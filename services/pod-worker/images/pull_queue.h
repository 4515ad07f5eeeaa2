#pragma once

/// The order in which pulls begin: as they were requested, with a bound on pulls at the same time
/// and on pulls per second. A pull takes its token when it begins, not when it is requested. So a
/// burst of requests waits and is not refused.
/// Threads: one at a time.
/// Errors:  none.
/// Source:  docs/behaviour/images.md, "Pulls".

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "libs/base/clock.h"
#include "services/pod-worker/images/token_bucket.h"

namespace splitlet::pod_worker {

using PullId = uint64_t;

class PullQueue {
 public:
  struct Options {
    double per_second = 0, burst = 1;  // 0: no limit
    size_t at_once = 0;                // 0: no limit
  };
  PullQueue(const Clock& clock, Options options)
      : options_(options), tokens_(clock, options.per_second, options.burst) {}

  void Add(PullId pull) { waiting_.push_back(pull); }
  /// The next pull that may begin now; it counts as running until Done(). Pulls that are no longer
  /// wanted are dropped and take no token.
  std::optional<PullId> TakeNext(const std::function<bool(PullId)>& wanted);
  void Done();
  /// How long until TakeNext may return a pull without a Done(); unset: not before a Done().
  std::optional<Duration> NextIn() const;
  size_t waiting() const { return waiting_.size(); }
  size_t running() const { return running_; }

 private:
  bool IsFull() const { return options_.at_once > 0 && running_ >= options_.at_once; }

  const Options options_;
  TokenBucket tokens_;
  std::deque<PullId> waiting_;
  size_t running_ = 0;
};

}  // namespace splitlet::pod_worker
