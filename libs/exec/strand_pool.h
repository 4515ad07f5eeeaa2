#pragma once

/// Strands on threads. The pool makes a thread when a key has work and all threads are busy, up to
/// a cap, and ends idle threads. Above the cap keys wait in order. Slow tasks do not count, within
/// the options' limit. If the machine refuses a thread, the key waits for another thread or for the
/// next Retry.
/// Threads: any; nothing fails.
/// Source: docs/design.md, "Threads and time"; docs/safety.md, rule 28.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "libs/base/clock.h"
#include "libs/exec/exec.h"

namespace splitlet::exec {

class StrandPool final : public Strands {
 public:
  struct Options {
    size_t max_threads = 64;
    /// Additional threads, at most one for each task that runs since `slow_rounds` calls of Retry.
    size_t slow_threads = 0;
    int slow_rounds = 5;
    Duration idle_limit = std::chrono::seconds{10};
    /// Makes a thread that runs the task; throws std::system_error on failure. Not set:
    /// std::thread.
    std::function<std::thread(Task)> make_thread = nullptr;
  };
  struct Load {
    size_t threads = 0;
    size_t busy = 0;
    size_t waiting_keys = 0;  // keys with work and no thread
  };
  explicit StrandPool(Options options) : options_(options) {}
  ~StrandPool() override { Stop(); }

  void Run(const std::string& key, Task task) override;
  size_t Pending(const std::string& key) const override;
  /// Makes threads that failed before, and threads to replace slow tasks. Call it now and then: if
  /// no thread is left, only Retry helps the waiting keys.
  void Retry();
  /// Lets running tasks end, drops waiting ones, joins. Later Run() calls do nothing.
  void Stop();
  Load load() const;

 private:
  struct Strand {
    std::deque<Task> tasks;
    bool running = false;
    int rounds = 0;  // calls of Retry that saw this task run
  };
  bool IsSlow(const Strand& strand) const { return strand.rounds >= options_.slow_rounds; }
  size_t MaxThreads() const {
    return options_.max_threads + std::min(slow_, options_.slow_threads);
  }
  bool AddThread();
  void Work(std::list<std::thread>::iterator self);
  void RunFront(std::unique_lock<std::mutex>& lock);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Strand> strands_;
  std::deque<std::string> ready_;  // keys with work and no thread
  std::list<std::thread> threads_;
  std::list<std::thread> ended_;  // about to return, at most one; the next caller joins it
  size_t idle_ = 0;
  size_t slow_ = 0;  // tasks that run for long
  bool stopping_ = false;
};

}  // namespace splitlet::exec
