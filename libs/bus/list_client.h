#pragma once

/// Lists tables of other processes over their sockets, many at a time.
/// Threads: List from the loop thread; `done` runs on a gRPC thread, once. No own threads.
/// Errors: gRPC codes; a list that is cut off is an error, never a shorter list.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

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
  void Finished(Call* call);

  const Connect connect_;
  const Clock& clock_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // by owner
  std::mutex mutex_;
  std::condition_variable finished_;
  std::map<Call*, std::unique_ptr<Call>> calls_;
};

}  // namespace splitlet::bus
