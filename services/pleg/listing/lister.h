#pragma once

/// Lists the runtime: on a timer, and sooner when asked.
/// In:    the timer; requests for a listing from the other parts; Pleg.Relist calls.
/// Owns:  when the next listing begins, the listing in flight, the callers that wait for one.
/// Out:   each listing, to PlegService.
/// Killed at any line: nothing is lost; the next start lists immediately.
/// Threads: loop thread only; the listing runs on a strand.
/// Errors: logged once for each code; on_failed, and the next listing.
/// Source: docs/behaviour/relist.md, "Listing".

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "libs/base/log.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pleg/config.h"
#include "services/pleg/listing/pace.h"
#include "services/pleg/listing/relist.h"
#include "services/pleg/metrics.h"

namespace splitlet::pleg {

class Lister {
 public:
  /// The time at which the listing began.
  using Done = std::function<void(StatusOr<Clock::Time>)>;
  struct Deps {
    exec::Env env;
    cri::Reader& reader;
    PlegMetrics& metrics;
    const PlegConfig& config;
    std::function<bool()> streaming;  // an event stream is open: the timer is slower
    /// `back`: the listing before this one had failed.
    std::function<void(Listing& listing, bool back)> on_listed;
    std::function<void()> on_failed;
    std::function<void()> on_end;  // after on_listed or on_failed, once the timer is set again
  };
  explicit Lister(Deps deps);
  ~Lister();
  Lister(const Lister&) = delete;
  Lister& operator=(const Lister&) = delete;

  void Start() { Begin(); }
  /// Events may have been missed.
  void ListSoon() { ListWithin(Duration{0}); }
  /// More pods wait than are worth an inspection each: one listing serves all of them.
  void ListForMany();
  /// An event named an id that no pod has. A burst of such ids shares listings.
  void ListForUnknown(Duration at_least = Duration{0});
  /// Answers with a listing that begins after this call, once the listed pods are inspected.
  void Ask(Done done);
  /// In on_listed: the callers that this listing answers.
  std::vector<Done> TakeAskers() { return std::exchange(askers_, {}); }

  bool failing() const { return !error_.ok(); }
  /// When the last good listing began; no time: there was none.
  Clock::Time last() const { return last_; }

 private:
  static constexpr size_t kMaxAskers = 100;
  void Begin();
  void OnListed(Clock::Time began, const StatusOr<std::shared_ptr<Listing>>& listed);
  void OnFailed(const Status& status);
  void ListWithin(Duration delay);
  void Arm(Duration delay);
  void CountRunning(const Listing& listing) const;

  Deps deps_;
  bool listing_ = false;
  NextListing next_;  // after the listing in flight
  Clock::Time due_;   // of the timer
  exec::TimerId timer_ = 0;
  Clock::Time last_;
  ListingPace pace_;
  Status error_;
  std::vector<Done> askers_, next_askers_;
  const exec::Asker asker_;
};

}  // namespace splitlet::pleg
