#pragma once

/// Limits of one caller (a user and a process id) at a server: calls in flight for each method,
/// bytes of a request. Some methods have reserved threads. A call that takes too long is cancelled.
/// Threads: any.
/// Errors: RESOURCE_EXHAUSTED, before the request is decoded.
/// Source: docs/safety.md, rule 31.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/rpc/rpc.h"

namespace grpc {
class ServerContextBase;
}

namespace splitlet::rpc {

class CallLimits {
 public:
  /// `limits_of` returns the limits of a method ("splitlet.v1.Pleg/Relist"). At most `others` calls
  /// without reserved threads run at the same time.
  CallLimits(std::function<MethodLimits(const std::string& method)> limits_of, int others,
             Duration longest, const Clock& clock);
  CallLimits(const CallLimits&) = delete;
  CallLimits& operator=(const CallLimits&) = delete;

  /// A call from its admission to its end. The limits outlive it.
  class Ticket {
   public:
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    /// From here until the ticket's end the call may be cancelled.
    void Runs(grpc::ServerContextBase& context);

   private:
    friend class CallLimits;
    using Caller = std::pair<uint32_t, int32_t>;
    Ticket(CallLimits& limits, std::string method, Caller caller, bool reserved);
    CallLimits& limits_;
    const std::string method_;
    const Caller caller_;
    const bool reserved_;
    const Clock::Time since_;
    grpc::ServerContextBase* context_ = nullptr;
    std::list<Ticket*>::iterator place_;
  };
  StatusOr<std::unique_ptr<Ticket>> Admit(const std::string& method, const Peer& peer,
                                          size_t request_bytes);

  /// Cancels calls that take too long; returns how many.
  int CancelOverdue();

 private:
  const std::function<MethodLimits(const std::string& method)> limits_of_;
  const int max_others_;
  const Duration longest_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::pair<Ticket::Caller, std::string>, int> in_flight_;
  int others_ = 0;
  std::list<Ticket*> tickets_;  // the oldest first
};

}  // namespace splitlet::rpc
