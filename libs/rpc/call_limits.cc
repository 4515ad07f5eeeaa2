#include "libs/rpc/call_limits.h"

#include <grpcpp/grpcpp.h>

namespace splitlet::rpc {

CallLimits::CallLimits(std::function<MethodLimits(const std::string& method)> limits_of, int others,
                       Duration longest, const Clock& clock)
    : limits_of_(std::move(limits_of)), max_others_(others), longest_(longest), clock_(clock) {}

StatusOr<std::unique_ptr<CallLimits::Ticket>> CallLimits::Admit(const std::string& method,
                                                                const Peer& peer,
                                                                size_t request_bytes) {
  const MethodLimits limits = limits_of_(method);
  if (request_bytes > limits.request_bytes)
    return ResourceExhausted("{}: a request of {} bytes, {} are allowed", method, request_bytes,
                             limits.request_bytes);
  const Ticket::Caller caller{peer.uid, peer.pid};
  const std::lock_guard lock(mutex_);
  const auto mine = in_flight_.find({caller, method});
  if (mine != in_flight_.end() && mine->second >= limits.per_caller)
    return ResourceExhausted("{}: {} calls of user {}, process {}, run already", method,
                             mine->second, peer.uid, peer.pid);
  if (!limits.reserved && others_ >= max_others_)
    return ResourceExhausted("{}: {} calls run already", method, others_);
  return std::unique_ptr<Ticket>(new Ticket(*this, method, caller, limits.reserved));
}

/// Requires the lock of the limits.
CallLimits::Ticket::Ticket(CallLimits& limits, std::string method, Caller caller, bool reserved)
    : limits_(limits),
      method_(std::move(method)),
      caller_(caller),
      reserved_(reserved),
      since_(limits.clock_.Now()),
      place_(limits.tickets_.insert(limits.tickets_.end(), this)) {
  ++limits_.in_flight_[{caller_, method_}];
  if (!reserved_) ++limits_.others_;
}

CallLimits::Ticket::~Ticket() {
  const std::lock_guard lock(limits_.mutex_);
  limits_.tickets_.erase(place_);
  const auto mine = limits_.in_flight_.find({caller_, method_});
  if (--mine->second == 0) limits_.in_flight_.erase(mine);
  if (!reserved_) --limits_.others_;
}

void CallLimits::Ticket::Runs(grpc::ServerContextBase& context) {
  const std::lock_guard lock(limits_.mutex_);
  context_ = &context;
}

int CallLimits::CancelOverdue() {
  const std::lock_guard lock(mutex_);
  int cancelled = 0;
  for (Ticket* const ticket : tickets_) {
    if (clock_.Now() - ticket->since_ < longest_) break;
    if (ticket->context_ == nullptr) continue;
    ticket->context_->TryCancel();
    ++cancelled;
  }
  return cancelled;
}

}  // namespace splitlet::rpc
