#pragma once

/// Lists tables of other processes over their sockets, many at a time, without a thread of its own.
/// Threads: List from the loop thread; `done` runs on a gRPC thread, once. Errors: gRPC codes; a
/// list that is cut off is an error, never a shorter list.

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
namespace splitlet::rpc {
class CallMetrics;
}

namespace splitlet::bus {

class ListClient {
 public:
  using Done = std::function<void(StatusOr<ListAnswer>)>;
  /// `metrics` may be nullptr.
  ListClient(std::string run_dir, const Clock& clock, rpc::CallMetrics* metrics);
  /// Gives up what is on its way; no `done` runs after this returned.
  ~ListClient();
  ListClient(const ListClient&) = delete;
  ListClient& operator=(const ListClient&) = delete;

  void List(const std::string& owner, const std::string& table, const Since& since, Done done);

 private:
  class Call;
  void Finished(Call* call);

  const std::string run_dir_;
  const Clock& clock_;
  rpc::CallMetrics* const metrics_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // by owner
  std::mutex mutex_;
  std::condition_variable finished_;
  std::map<Call*, std::unique_ptr<Call>> calls_;
};

}  // namespace splitlet::bus
