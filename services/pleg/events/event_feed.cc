#include "services/pleg/events/event_feed.h"

#include <algorithm>
#include <utility>

namespace splitlet::pleg {

EventFeed::EventFeed(Deps deps) : deps_(std::move(deps)) { ShowSource(); }

EventFeed::~EventFeed() {
  *alive_ = false;
  deps_.env.loop.CancelTimer(timer_);
  for (auto& source : deps_.sources) source.stream->Stop();
}

std::string EventFeed::name() const { return streaming() ? deps_.sources[index_].name : "polling"; }

void EventFeed::ShowSource() {
  const std::string in_use = name();
  for (const char* source : {"cri", "containerd", "polling"}) {
    deps_.metrics.event_source.Add({{"source", source}}).Set(in_use == source ? 1 : 0);
  }
}

void EventFeed::Try(size_t index) {
  deps_.env.loop.CancelTimer(std::exchange(timer_, 0));
  if (index != index_) breaks_ = 0;
  index_ = index;
  const bool polling = index == deps_.sources.size();
  state_ = polling ? FeedState::kPolling : FeedState::kTrying;
  const uint64_t attempt = ++attempt_;
  ShowSource();
  if (polling) {
    TryLater(0, deps_.probe_period);
    return;
  }
  const auto post = [loop = &deps_.env.loop, alive = alive_](exec::Task task) {
    loop->Post([alive, task = std::move(task)] {
      if (*alive) task();
    });
  };
  cri::EventSource::Callbacks on;
  on.on_open = [this, post, attempt] { post([this, attempt] { OnOpen(attempt); }); };
  on.on_end = [this, post, attempt](const Status& status) {
    post([this, attempt, status] { OnEnd(attempt, status); });
  };
  on.on_event = [this, post, attempt, queue = queue_](const cri::ContainerEvent& event) {
    const int now_waiting = queue->waiting.fetch_add(1);
    if (now_waiting > kMaxWaiting) {
      queue->dropped.fetch_add(1);
      queue->waiting.fetch_sub(1);
      return;
    }
    // The event that fills the queue reports the gap of all that are dropped behind it.
    const bool full = now_waiting == kMaxWaiting;
    post([this, attempt, event, full] {
      queue_->waiting.fetch_sub(1);
      CountDropped();
      OnEvent(attempt, event);
      if (full) deps_.on_gap();
    });
  };
  deps_.sources[index].stream->Start(std::move(on), kOpenLimit);
}

void EventFeed::TryLater(size_t index, Duration delay) {
  deps_.env.loop.CancelTimer(timer_);
  timer_ = deps_.env.loop.RunAfter(delay, [this, index] { Try(index); });
}

void EventFeed::Probe() {
  if (state_ == FeedState::kPolling) Try(0);
}

void EventFeed::OnOpen(uint64_t attempt) {
  if (attempt != attempt_) return;
  state_ = FeedState::kOpen;
  opened_at_ = deps_.env.clock.Now();
  deps_.metrics.stream_opened.Increment();
  // A stream that keeps breaking opens as often.
  if (!logged_broken_.contains(name()))
    deps_.env.log.Info("event stream opened", {KV("source", name())});
  ShowSource();
  deps_.on_gap();
}

// A drop is not posted: the queue would have no bound. Whenever events were dropped, others wait.
void EventFeed::CountDropped() {
  deps_.metrics.discarded_events.Increment(queue_->dropped.exchange(0));
}

bool EventFeed::Lasted() const { return deps_.env.clock.Now() - opened_at_ >= kLongEnough; }

void EventFeed::OnEvent(uint64_t attempt, const cri::ContainerEvent& event) {
  if (attempt != attempt_) return;
  if (!logged_broken_.empty() && Lasted() && logged_broken_.erase(name()) > 0)
    deps_.env.log.Info("event stream lasts again", {KV("source", name())});
  deps_.on_event(event);
}

void EventFeed::OnEnd(uint64_t attempt, const Status& status) {
  if (attempt != attempt_) return;
  const std::string& source = deps_.sources[index_].name;
  const StreamEnd end{.state = state_,
                      .lasted = streaming() && Lasted(),
                      .unimplemented = status.code() == StatusCode::kUnimplemented,
                      .breaks = breaks_};
  if (end.lasted) {
    logged_absent_.erase(source);
    logged_broken_.erase(source);
  }
  const AfterStreamEnd after = AfterEnd(end);
  LogEnd(after, status);
  state_ = FeedState::kWaiting;
  breaks_ = after.breaks;
  ShowSource();
  if (after.next != AfterStreamEnd::Next::kAbsent) deps_.metrics.stream_failed.Increment();
  if (after.gap) deps_.on_gap();
  after.next == AfterStreamEnd::Next::kAgain ? TryLater(index_, after.wait) : Try(index_ + 1);
}

void EventFeed::LogEnd(const AfterStreamEnd& after, const Status& status) {
  const std::string& source = deps_.sources[index_].name;
  using Next = AfterStreamEnd::Next;
  if (after.next == Next::kAbsent) {
    if (logged_absent_.insert(source).second)
      deps_.env.log.Info("event stream not available, trying the next source",
                         {KV("source", source), KV("reason", Message(status))});
    return;
  }
  if (after.gap && !logged_broken_.contains(source))
    deps_.env.log.Warn("event stream ended, will open it again",
                       {KV("source", source), KV("err", status)});
  if (after.next == Next::kGivenUp && logged_broken_.insert(source).second)
    deps_.env.log.Warn("event stream given up, further tries are not logged",
                       {KV("source", source), KV("err", status)});
}

}  // namespace splitlet::pleg
