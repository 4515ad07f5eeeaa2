#pragma once

/// Calls of servers in pods by libcurl on one thread, which the first call makes.
/// Owns:    the calls under way.
/// Threads: Begin from any; `done` runs on the client's thread.
/// Errors:  as Caller says; ABORTED above its bounds.
/// Source:  docs/behaviour/probes.md, "One run".

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "libs/http/caller.h"

namespace splitlet::http {

class AsyncClient final : public Caller {
 public:
  struct Options {
    size_t max_calls = 512;  // each takes a descriptor; of 1,024 that a process has by default
    /// Of calls that name their host. libcurl looks each name up in a thread that cannot be ended:
    /// one that outlives its call still counts for lookup_limit.
    size_t max_names = 16;
    Duration lookup_limit = std::chrono::seconds{30};
  };
  AsyncClient(const Clock& clock, Options options) : clock_(clock), options_(options) {}
  explicit AsyncClient(const Clock& clock) : AsyncClient(clock, Options{}) {}
  ~AsyncClient() override { Stop(); }

  void Begin(Exchange exchange, Deadline deadline, Done done) override;
  /// All under way end with CANCELLED, and so does what is begun later. Joins the thread.
  void Stop();

 private:
  class Engine;  // the thread's
  struct Call {
    uint64_t id = 0;
    Exchange exchange;
    Deadline deadline;
    Done done;
  };
  /// What the thread is told.
  struct Inbox {
    std::vector<Call> begun;
    std::vector<uint64_t> cancelled;
    bool stop = false;
  };
  bool EnsureEngine();
  void PostCancel(uint64_t id);
  void OnAnswered();
  Inbox TakeInbox();

  const Clock& clock_;
  const Options options_;
  std::mutex mutex_;  // of all below
  Inbox inbox_;
  std::shared_ptr<Engine> engine_;  // null: no call has been made yet
  uint64_t last_id_ = 0;
  size_t calls_ = 0;
  std::thread thread_;
};

}  // namespace splitlet::http
