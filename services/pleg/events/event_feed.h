#pragma once

/// The source of runtime events: the first stream that works, or none (polling).
/// A stream that is not implemented, or that keeps breaking, is skipped. While polling, the streams
/// are tried again from the first, each `probe_period` and by Probe(). An absent or breaking source
/// is logged once, until a stream of it lasted.
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
#include "libs/exec/exec.h"
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
    const Clock& clock;
    exec::EventLoop& loop;
    std::vector<NamedSource> sources;  // in order of preference
    Duration probe_period;
    PlegMetrics& metrics;
    Log log;
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
  bool streaming() const { return open_; }
  /// "cri", "containerd" or "polling".
  std::string name() const;

 private:
  static constexpr int kMaxBreaks = 5;
  static constexpr Duration kLongEnough = std::chrono::seconds{10};
  static constexpr Duration kOpenLimit = std::chrono::seconds{10};
  void Try(size_t index);
  void TryLater(size_t index, Duration delay);
  void OnOpen(uint64_t attempt);
  void OnEvent(uint64_t attempt, const cri::ContainerEvent& event);
  void OnEnd(uint64_t attempt, const Status& status);
  void ShowSource();
  bool Lasted() const;

  Deps deps_;
  std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // read on the loop only
  size_t index_ = 0;      // of the source tried or in use; sources.size(): polling
  uint64_t attempt_ = 0;  // posts of an earlier attempt are dropped
  bool open_ = false;
  Clock::Time opened_at_;
  int breaks_ = 0;                         // of this source, each soon after its opening
  std::set<std::string> absent_, broken_;  // sources for which that was logged
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::pleg
