#pragma once

/// Connections of callers that are not served. Each is kept until its calls have got their status
/// and the caller has gone, for kRefusalLimit at most. Their number is bounded: above it a
/// connection is closed without an answer.
/// Threads: one, that of the acceptor, which polls.
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
  /// `polled`: what AppendTo has appended, after poll. Ends those that are over, too.
  void Serve(std::span<const pollfd> polled);
  /// Milliseconds until the first of them is over; -1: there is none.
  int PatienceMs() const;
  size_t size() const { return callers_.size(); }

 private:
  struct Caller {
    SocketFd fd;
    uint32_t uid = 0;
    Clock::Time end;
    RefusedCalls calls;
  };
  /// False when the connection is over.
  static bool Answer(Caller& caller);

  const Clock& clock_;
  std::vector<Caller> callers_;  // oldest first
};

}  // namespace splitlet::rpc
