#include "libs/exec/loop_thread.h"

#include <algorithm>

#include "libs/base/status.h"

namespace splitlet::exec {

LoopThread::~LoopThread() {
  CHECK(thread_.load() == std::thread::id{}, "the loop still runs");
  // Tasks go first: their captures may post or cancel when they are destroyed.
  const auto queue = std::exchange(queue_, {});
  const auto timers = std::exchange(timers_, {});
}

void LoopThread::Post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({clock_.Now().monotonic, std::move(task)});
  }
  wake_.notify_one();
}

TimerId LoopThread::RunAfter(Duration delay, Task task) {
  const Duration due = clock_.Now().monotonic + std::max(delay, Duration{0});
  TimerId timer = 0;
  {
    const std::lock_guard lock(mutex_);
    timer = ++last_timer_;
    timers_.emplace(std::pair{due, timer}, std::move(task));
    due_of_.emplace(timer, due);
  }
  wake_.notify_one();
  return timer;
}

void LoopThread::CancelTimer(TimerId timer) {
  Timers::node_type dropped;  // its captures are destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto due = due_of_.find(timer);
  if (due == due_of_.end()) return;
  dropped = timers_.extract({due->second, timer});
  due_of_.erase(due);
}

void LoopThread::TakeDueTimers() {
  const Duration now = clock_.Now().monotonic;
  // Queues a single timer at a time: a timer in the queue can no longer be cancelled.
  if (timers_.empty() || timers_.begin()->first.first > now) return;
  if (!queue_.empty() && queue_.front().due <= timers_.begin()->first.first) return;
  const auto first = timers_.begin();
  queue_.push_front({first->first.first, std::move(first->second)});
  due_of_.erase(first->first.second);
  timers_.erase(first);
}

void LoopThread::Run() {
  CHECK(thread_.exchange(std::this_thread::get_id()) == std::thread::id{}, "the loop runs already");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    TakeDueTimers();
    if (queue_.empty()) {
      if (timers_.empty()) {
        wake_.wait(lock);
      } else {
        wake_.wait_until(lock, std::chrono::steady_clock::time_point(timers_.begin()->first.first));
      }
      continue;
    }
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    if (on_lag_) on_lag_(std::max(Duration{0}, clock_.Now().monotonic - next.due));
    next.task();
    next.task = nullptr;  // destroyed without the lock
    lock.lock();
  }
  stopping_ = false;
  thread_.store(std::thread::id{});
}

void LoopThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
}

}  // namespace splitlet::exec
