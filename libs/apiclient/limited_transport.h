#pragma once

/// A transport that sends no faster than a rate limiter allows. A waiting request holds no thread.
/// In:      requests.
/// Out:     the same requests to the transport below, in the same order.
/// Killed:  waiting requests were never sent; the next start repeats them.
/// Threads: as Transport; waiting requests are sent on the loop.
/// Errors:  those of the transport below; DEADLINE_EXCEEDED immediately for a request whose turn
///          would come too late; CANCELLED for a waiting request that is cancelled or outlives the
///          transport.
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
  /// `loop` outlives the waiting requests.
  LimitedTransport(std::unique_ptr<Transport> below, exec::EventLoop& loop,
                   std::unique_ptr<RateLimiter> limiter);
  void Begin(Request request, Deadline deadline, Done done) override;
  void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) override;
  std::string host() const override { return below_->host(); }

 private:
  /// Calls `send` at the request's turn, or `fail`.
  void WhenItsTurn(const Deadline& deadline, std::function<void(Transport&)> send,
                   const std::function<void(Status)>& fail);

  exec::EventLoop& loop_;
  const std::unique_ptr<RateLimiter> limiter_;
  const std::shared_ptr<Transport> below_;
};

}  // namespace splitlet::apiclient
