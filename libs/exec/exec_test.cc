#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/exec/limit.h"
#include "libs/exec/loop_thread.h"
#include "libs/exec/strand_pool.h"

namespace splitlet::exec {
namespace {

/// The loop runs on a thread of its own until the end.
class LoopRuns {
 public:
  explicit LoopRuns(LoopThread& loop) : loop_(loop), thread_([this] { loop_.Run(); }) {}
  ~LoopRuns() {
    loop_.Stop();
    thread_.join();
  }

 private:
  LoopThread& loop_;
  std::thread thread_;
};

/// A loop with a thread of its own.
struct RunningLoop {
  RealClock clock;
  LoopThread loop{clock};
  const LoopRuns runs{loop};
};

TEST(LoopThread, RunsPostedTasksInOrderOnOneThread) {
  std::vector<int> ran;  // no lock: only the loop touches it
  std::promise<void> done;
  RunningLoop running;
  EXPECT_FALSE(running.loop.IsCurrent());
  for (int i = 0; i < 1000; ++i) {
    running.loop.Post([&, i] {
      EXPECT_TRUE(running.loop.IsCurrent());
      ran.push_back(i);
      if (i == 999) done.set_value();
    });
  }
  done.get_future().wait();
  ASSERT_EQ(ran.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ran[static_cast<size_t>(i)], i);
}

TEST(LoopThread, TimersRunByTimeNeverEarlyAndCancelledOnesNever) {
  std::vector<std::string> ran;
  std::promise<void> done;
  RunningLoop running;
  const Clock::Time start = running.clock.Now();
  running.loop.Post([&] {
    running.loop.RunAfter(30ms, [&] {
      EXPECT_GE(running.clock.Now() - start, Duration{30ms});
      ran.push_back("second");
      done.set_value();
    });
    running.loop.RunAfter(10ms, [&] { ran.push_back("first"); });
    const TimerId cancelled = running.loop.RunAfter(20ms, [&] { ran.push_back("cancelled"); });
    running.loop.CancelTimer(cancelled);
  });
  done.get_future().wait();
  EXPECT_EQ(ran, (std::vector<std::string>{"first", "second"}));
}

TEST(LoopThread, TellsHowLongATaskHadToWait) {
  RealClock clock;
  LoopThread loop(clock);
  Duration worst{0};
  loop.OnLag([&](Duration lag) { worst = std::max(worst, lag); });
  loop.Post([&] {
    const Clock::Time start = clock.Now();
    while (clock.Now() - start < 5ms) {
    }
  });
  loop.Post([&] { loop.Stop(); });
  loop.Run();
  EXPECT_GE(worst, Duration{5ms});
}

TEST(LoopThread, TasksThatNeverRanAreDestroyedWithIt) {
  const auto held = std::make_shared<int>(1);
  {
    RealClock clock;
    LoopThread loop(clock);
    loop.Post([held] {});
    loop.RunAfter(1h, [held] {});
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
}

/// Tasks that wait until the test lets them go on.
class Gate {
 public:
  void Wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitWaiting(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= n; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

TEST(StrandPool, KeysRunSideBySideAndTasksOfOneKeyOneAtATime) {
  Gate gate;
  std::map<std::string, std::vector<int>> ran;
  for (const std::string key : {"a", "b", "c", "d"}) ran[key];
  std::atomic<int> left = 4 * 50;
  std::promise<void> done;
  StrandPool pool({.max_threads = 8});
  for (const std::string key : {"a", "b", "c", "d"}) {
    pool.Run(key, [&] { gate.Wait(); });
    for (int i = 0; i < 50; ++i) {
      pool.Run(key, [&, key, i] {
        ran.at(key).push_back(i);  // no lock: only this strand touches it
        if (--left == 0) done.set_value();
      });
    }
    EXPECT_EQ(pool.Pending(key), 51u);
  }
  gate.AwaitWaiting(4);
  EXPECT_EQ(pool.load().threads, 4u);
  gate.Open();
  done.get_future().wait();
  for (const auto& [key, order] : ran) {
    ASSERT_EQ(order.size(), 50u) << key;
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << key;
  }
}

TEST(StrandPool, AboveTheCapKeysWaitTheirTurn) {
  Gate gate;
  std::promise<void> done;
  StrandPool pool({.max_threads = 2});  // the last: it ends before what its tasks use
  pool.Run("a", [&] { gate.Wait(); });
  pool.Run("b", [&] { gate.Wait(); });
  pool.Run("c", [&] { done.set_value(); });
  gate.AwaitWaiting(2);
  EXPECT_EQ(pool.load().threads, 2u);
  EXPECT_EQ(pool.load().waiting_keys, 1u);
  gate.Open();
  done.get_future().wait();
}

TEST(StrandPool, IdleThreadsEnd) {
  std::promise<void> done, again;
  StrandPool pool({.max_threads = 4, .idle_limit = 1ms});
  pool.Run("a", [&] { done.set_value(); });
  done.get_future().wait();
  const RealClock clock;
  const Deadline deadline = After(clock, 10s);
  while (pool.load().threads > 0 && Remaining(clock, deadline) > 0ms) std::this_thread::yield();
  EXPECT_EQ(pool.load().threads, 0u);
  pool.Run("a", [&] { again.set_value(); });
  again.get_future().wait();
}

TEST(StrandPool, StopLetsTheRunningTaskEndAndDropsTheRest) {
  Gate gate;
  std::atomic<bool> first = false, second = false;
  StrandPool pool({.max_threads = 1});
  pool.Run("a", [&] {
    gate.Wait();
    first = true;
  });
  pool.Run("a", [&] { second = true; });
  gate.AwaitWaiting(1);
  std::thread stopper([&] { pool.Stop(); });
  const RealClock clock;
  const Deadline deadline = After(clock, 10s);
  while (pool.Pending("a") > 1 && Remaining(clock, deadline) > 0ms) std::this_thread::yield();
  gate.Open();
  stopper.join();
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  pool.Run("b", [&] { second = true; });
  EXPECT_FALSE(second);
}

/// Threads as long as there are any.
struct ScarceThreads {
  std::thread operator()(Task task) {
    if (left == 0)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    --left;
    return std::thread(std::move(task));
  }
  std::atomic<int> left{0};
};

TEST(StrandPool, WithoutAThreadWorkWaitsUntilThereIsOne) {
  ScarceThreads scarce;
  std::promise<void> a, b;
  StrandPool pool({.max_threads = 8, .make_thread = std::ref(scarce)});
  pool.Run("a", [&] { a.set_value(); });
  pool.Run("b", [&] { b.set_value(); });
  EXPECT_EQ(pool.load().threads, 0u);
  EXPECT_EQ(pool.load().waiting_keys, 2u);
  pool.Retry();
  EXPECT_EQ(pool.load().waiting_keys, 2u) << "and none has come";
  scarce.left = 1;
  pool.Retry();
  a.get_future().wait();
  b.get_future().wait();
}

TEST(StrandPool, OneThreadThatThereIsDoesTheWorkOfThoseThatCannotBeMade) {
  ScarceThreads scarce;
  scarce.left = 1;
  Gate gate;
  std::promise<void> done;
  StrandPool pool({.max_threads = 8, .make_thread = std::ref(scarce)});
  pool.Run("a", [&] { gate.Wait(); });
  gate.AwaitWaiting(1);
  pool.Run("b", [&] { done.set_value(); });
  EXPECT_EQ(pool.load().threads, 1u);
  gate.Open();
  done.get_future().wait();
}

TEST(StrandPool, ThreadsThatCouldNotBeMadeAreMadeBesideOnesThatAreBusy) {
  ScarceThreads scarce;
  scarce.left = 1;
  Gate gate;
  std::promise<void> b, c;
  StrandPool pool({.max_threads = 8, .make_thread = std::ref(scarce)});
  pool.Run("a", [&] { gate.Wait(); });
  gate.AwaitWaiting(1);
  pool.Run("b", [&] { b.set_value(); });
  pool.Run("c", [&] { c.set_value(); });
  scarce.left = 8;
  pool.Retry();
  b.get_future().wait();
  c.get_future().wait();
  EXPECT_LE(pool.load().threads, 3u) << "one for each key that waited";
  gate.Open();
}

TEST(StrandPool, TasksThatRunForLongTakeNoThreadFromTheOthers) {
  Gate gate;
  std::promise<void> done;
  StrandPool pool({.max_threads = 2, .slow_threads = 1, .slow_rounds = 3});
  pool.Run("a", [&] { gate.Wait(); });
  pool.Run("b", [&] { gate.Wait(); });
  gate.AwaitWaiting(2);
  pool.Run("c", [&] { done.set_value(); });
  pool.Retry();
  pool.Retry();
  EXPECT_EQ(pool.load().threads, 2u) << "not for long yet";
  pool.Retry();
  done.get_future().wait();
  pool.Run("d", [&] { gate.Wait(); });
  pool.Run("e", [&] { gate.Wait(); });
  for (int i = 0; i < 4; ++i) pool.Retry();
  EXPECT_EQ(pool.load().threads, 3u) << "as many more as the options say";
  gate.Open();
}

TEST(AdaptiveLimit, ThreadsWaitForTheirPlaceAndGiveUpWhenCancelled) {
  const RealClock clock;
  LoopThread loop(clock);
  AdaptiveLimit limit(clock, loop, {.min = 1, .initial = 1, .slow_unmeasured = 1h});
  const LoopRuns runs(loop);
  std::optional<StatusOr<Permit>> first(limit.Acquire(After(clock, 10s)));
  ASSERT_TRUE(first->ok());
  EXPECT_EQ(limit.Acquire(After(clock, 1ms)).status().code(), StatusCode::kDeadlineExceeded);
  Deadline cancelled = After(clock, 1h);
  cancelled.cancel = std::make_shared<CancelToken>();
  std::thread giver([&] { cancelled.cancel->Cancel(); });
  EXPECT_EQ(limit.Acquire(cancelled).status().code(), StatusCode::kCancelled);
  giver.join();
  std::promise<void> got;
  std::thread waiter([&] {
    if (limit.Acquire(After(clock, 10s)).ok()) got.set_value();
  });
  first.reset();
  got.get_future().wait();
  waiter.join();
}

TEST(AdaptiveLimit, ManyThreadsPassThroughOnePlace) {
  const RealClock clock;
  LoopThread loop(clock);
  AdaptiveLimit limit(
      clock, loop, {.min = 1, .max = 1, .initial = 1, .slow_at_least = 1h, .slow_unmeasured = 1h});
  const LoopRuns runs(loop);
  std::atomic<int> inside{0}, passed{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          const auto permit = limit.Acquire(After(clock, 1min));
          EXPECT_TRUE(permit.ok());
          EXPECT_EQ(++inside, 1);
          --inside;
          ++passed;
        }
      });
  }
  EXPECT_EQ(passed, 160);
}

}  // namespace
}  // namespace splitlet::exec
