#pragma once

/// Calls servers in pods by libcurl, on one thread that the first call starts.
/// Owns:    the calls under way.
/// Threads: Begin from any; `done` runs on the client's thread.
/// Errors:  those of Caller; ABORTED: too many calls.
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
    size_t max_calls = 512;  // each call takes a descriptor, and a process has 1,024 by default
    /// Limit of calls with a host name. libcurl looks up each name in a thread that cannot be
    /// ended. Such a thread may outlive its call, and then still counts for lookup_limit.
    size_t max_names = 16;
    Duration lookup_limit = std::chrono::seconds{30};
  };
  AsyncClient(const Clock& clock, Options options) : clock_(clock), options_(options) {}
  explicit AsyncClient(const Clock& clock) : AsyncClient(clock, Options{}) {}
  ~AsyncClient() override { Stop(); }

  void Begin(Exchange exchange, Deadline deadline, Done done) override;
  /// Ends running and later calls with CANCELLED. Joins the thread.
  void Stop();

 private:
  class Engine;  // used by the thread only
  struct Call {
    uint64_t id = 0;
    Exchange exchange;
    Deadline deadline;
    Done done;
  };
  /// Messages to the thread.
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
  std::mutex mutex_;  // guards the members below
  Inbox inbox_;
  std::shared_ptr<Engine> engine_;  // null before the first call
  uint64_t last_id_ = 0;
  size_t calls_ = 0;
  std::thread thread_;
};

}  // namespace splitlet::http
