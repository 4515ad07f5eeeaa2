#include "libs/apiclient/limited_transport.h"

#include <utility>

#include "libs/base/cancel.h"

namespace splitlet::apiclient {
namespace {

bool IsGivenUp(const Deadline& deadline) {
  return deadline.cancel != nullptr && deadline.cancel->cancelled();
}

}  // namespace

LimitedTransport::LimitedTransport(std::unique_ptr<Transport> below, exec::EventLoop& loop,
                                   std::unique_ptr<RateLimiter> limiter)
    : loop_(loop), limiter_(std::move(limiter)), below_(std::move(below)) {}

void LimitedTransport::Begin(Request request, Deadline deadline, Done done) {
  const auto fail = [done](Status status) { done(std::move(status)); };
  WhenItsTurn(
      deadline,
      [request = std::move(request), deadline, done = std::move(done)](Transport& below) mutable {
        below.Begin(std::move(request), deadline, std::move(done));
      },
      fail);
}

void LimitedTransport::BeginStream(Request request, Deadline deadline, OnData on_data, Done done) {
  const auto fail = [done](Status status) { done(std::move(status)); };
  WhenItsTurn(
      deadline,
      [request = std::move(request), deadline, on_data = std::move(on_data),
       done = std::move(done)](Transport& below) mutable {
        below.BeginStream(std::move(request), deadline, std::move(on_data), std::move(done));
      },
      fail);
}

void LimitedTransport::WhenItsTurn(const Deadline& deadline, std::function<void(Transport&)> send,
                                   const std::function<void(Status)>& fail) {
  const auto turn = limiter_->Take(deadline);
  if (!turn.ok()) return fail(turn.status());
  if (*turn == Duration{0}) return send(*below_);
  loop_.RunAfter(*turn,
                 [weak = std::weak_ptr<Transport>(below_), deadline, fail, send = std::move(send)] {
                   const auto below = weak.lock();
                   if (below == nullptr || IsGivenUp(deadline))
                     return fail(Cancelled("cancelled while waiting for the rate limit"));
                   send(*below);
                 });
}

}  // namespace splitlet::apiclient
