#pragma once

/// The source of runtime events: the first stream that works, or none (polling).
/// A stream that is not implemented, or that keeps breaking, is skipped. While polling, the streams
/// are tried again from the first, each `probe_period` and by Probe(). An absent or breaking source
/// is logged once, until a stream of it lasted.
/// In:    events, openings and ends of the streams; the timer; Probe() of PlegService.
/// Owns:  the sources, which of them is in use, how often it broke.
/// Out:   events and gaps, to PlegService.
/// Killed at any line: nothing is lost; the next start tries the sources from the first.
/// Threads: loop thread; the streams' threads only post. At most kMaxWaiting events wait for the
/// loop. Further events are dropped and counted, and on_gap follows.
/// Errors: in the log.
/// Source: docs/behaviour/relist.md, "Listing"; docs/design.md, "Runtime events without waiting".

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/cri/event_source.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pleg/events/stream_end.h"
#include "services/pleg/metrics.h"

namespace splitlet::pleg {

struct NamedSource {
  std::string name;  // "cri", "containerd"
  std::unique_ptr<cri::EventSource> stream;
};

class EventFeed {
 public:
  static constexpr int kMaxWaiting = 1000;
  struct Deps {
    exec::Env env;
    std::vector<NamedSource> sources;  // in order of preference
    Duration probe_period;
    PlegMetrics& metrics;
    std::function<void(const cri::ContainerEvent&)> on_event;
    std::function<void()> on_gap;  // events may have been missed: list everything
  };
  explicit EventFeed(Deps deps);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  void Start() { Try(0); }
  /// The runtime is back, perhaps in another version: while polling, tries from the first stream.
  void Probe();
  bool streaming() const { return state_ == FeedState::kOpen; }
  /// "cri", "containerd" or "polling".
  std::string name() const;

 private:
  static constexpr Duration kLongEnough = std::chrono::seconds{10};
  static constexpr Duration kOpenLimit = std::chrono::seconds{10};
  /// Events on their way from a stream's thread to the loop.
  struct Queue {
    std::atomic<int> waiting = 0;
    std::atomic<int> dropped = 0;  // since the loop counted last
  };
  void Try(size_t index);
  void TryLater(size_t index, Duration delay);
  void OnOpen(uint64_t attempt);
  void OnEvent(uint64_t attempt, const cri::ContainerEvent& event);
  void OnEnd(uint64_t attempt, const Status& status);
  void CountDropped();
  void LogEnd(const AfterStreamEnd& after, const Status& status);
  void ShowSource();
  bool Lasted() const;

  Deps deps_;
  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // read on the loop only
  FeedState state_ = FeedState::kTrying;
  size_t index_ = 0;      // of the source tried or in use; kPolling: sources.size()
  uint64_t attempt_ = 0;  // posts of an earlier attempt are dropped
  Clock::Time opened_at_;
  int breaks_ = 0;                                       // of this source, see StreamEnd
  std::set<std::string> logged_absent_, logged_broken_;  // names of sources
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::pleg
