#pragma once

/// Connections of refused callers. Each is kept until its calls have their status and the caller
/// has left, at most kRefusalLimit. Above a bound connections are closed without an answer.
/// Threads: one, the acceptor's, which polls.
/// Errors: none.
/// Source: docs/safety.md, rule 31.

#include <poll.h>

#include <cstdint>
#include <span>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/rpc/refused_calls.h"
#include "libs/rpc/socket_fd.h"

namespace splitlet::rpc {

constexpr Duration kRefusalLimit = 5s;
constexpr int kRefusalsOfUser = 8, kRefusalsOfAll = 32;

class Refusals {
 public:
  explicit Refusals(const Clock& clock) : clock_(clock) {}
  void Add(SocketFd fd, uint32_t uid, const Status& why);
  void AppendTo(std::vector<pollfd>& fds) const;
  /// `polled`: the entries of AppendTo, after poll. Ends finished connections too.
  void Serve(std::span<const pollfd> polled);
  /// Milliseconds until the next connection ends; -1: none.
  int PatienceMs() const;
  size_t size() const { return callers_.size(); }

 private:
  struct Caller {
    SocketFd fd;
    uint32_t uid = 0;
    Clock::Time end;
    RefusedCalls calls;
  };
  /// False: the connection is over.
  static bool Answer(Caller& caller);

  const Clock& clock_;
  std::vector<Caller> callers_;  // oldest first
};

}  // namespace splitlet::rpc
