#pragma once

/// Lists tables of other processes over their sockets, many at a time. Each list has a thread of
/// its own until it ends: gRPC's calls without a thread would keep two threads that poll for ever.
/// Threads: List from the loop thread; `done` runs once, on the list's thread or before List
/// returns.
/// Errors: gRPC codes; a list that is cut off is an error, never a shorter list.
/// RESOURCE_EXHAUSTED: there is no thread.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "libs/bus/message.h"

namespace grpc {
class Channel;
}
namespace splitlet::bus {

class ListClient {
 public:
  using Done = std::function<void(StatusOr<ListAnswer>)>;
  /// Channel to the process of that name; called on the loop thread.
  using Connect = std::function<std::shared_ptr<grpc::Channel>(const std::string& process)>;
  ListClient(Connect connect, const Clock& clock);
  /// Ends the calls on their way; no `done` runs after the destructor.
  ~ListClient();
  ListClient(const ListClient&) = delete;
  ListClient& operator=(const ListClient&) = delete;

  void List(const std::string& owner, const std::string& table, const Since& since, Done done);

 private:
  class Call;
  Status Start(const std::shared_ptr<Call>& call, const std::string& table, const Since& since,
               const Done& done);
  /// The last step of a list's thread.
  void End(uint64_t number);

  const Connect connect_;
  const Clock& clock_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // by owner
  std::mutex mutex_;
  std::condition_variable ended_call_;
  struct Running {
    std::shared_ptr<Call> call;
    std::thread thread;
  };
  uint64_t last_ = 0;
  /// By number: the address of a call that has ended may be that of the next call, while the ended
  /// call is still listed.
  std::map<uint64_t, Running> calls_;
  std::thread ended_;  // about to return; the next thread that ends joins it
};

}  // namespace splitlet::bus
