#pragma once

/// A way to an API server that sends no faster than a rate limiter lets it, and holds no thread
/// while a request waits for its turn.
/// In:      requests.
/// Out:     the same to the transport below, in their order.
/// Killed:  what waits was never sent; the next start asks again.
/// Threads: as Transport; what waits is sent on the loop.
/// Errors:  those of the transport below; DEADLINE_EXCEEDED at once for a request whose turn would
///          come too late; CANCELLED for one that is given up, or outlived by nobody, as it waits.
/// Source:  docs/behaviour/api-client.md, "One call"; client-go flowcontrol.

#include <functional>
#include <memory>
#include <string>

#include "libs/apiclient/rate_limiter.h"
#include "libs/apiclient/transport.h"
#include "libs/exec/exec.h"

namespace splitlet::apiclient {

class LimitedTransport final : public Transport {
 public:
  /// `loop` outlives what waits.
  LimitedTransport(std::unique_ptr<Transport> below, exec::EventLoop& loop,
                   std::unique_ptr<RateLimiter> limiter);
  void Begin(Request request, Deadline deadline, Done done) override;
  void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) override;
  std::string host() const override { return below_->host(); }

 private:
  /// Calls `send` when it is its turn, or `fail`.
  void WhenItsTurn(const Deadline& deadline, std::function<void(Transport&)> send,
                   const std::function<void(Status)>& fail);

  exec::EventLoop& loop_;
  const std::unique_ptr<RateLimiter> limiter_;
  const std::shared_ptr<Transport> below_;
};

}  // namespace splitlet::apiclient
