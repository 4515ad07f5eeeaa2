#pragma once

/// Short calls to an API server. A call begins and ends on the loop, and holds no thread.
/// In:      calls of the owner.
/// Out:     one request for each call; answers on the loop.
/// Threads: the loop's.
/// Errors:  those of the transport and of apiclient::StatusOf. No call is retried here.
/// Killed:  the answers are lost; the next start calls again.

#include <functional>
#include <memory>
#include <string>

#include "libs/apiclient/reflector.h"
#include "libs/apiclient/wire.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/exec.h"

namespace splitlet::apiclient {
class ClientMetrics;
}

namespace splitlet::pod_worker {

/// The means to reach the API server.
struct ApiContext {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  apiclient::Transport& transport;
  Random& random;
  Log log;
  apiclient::ContentType content = apiclient::ContentType::kProtobuf;
  std::shared_ptr<apiclient::ClientMetrics> metrics = nullptr;  // null: none
};

/// For a watch of objects.
inline apiclient::Reflector::Deps WatchDeps(const ApiContext& context) {
  return {.clock = context.clock,
          .loop = context.loop,
          .strands = context.strands,
          .transport = context.transport,
          .random = context.random,
          .log = context.log,
          .metrics = context.metrics};
}

class ApiCalls {
 public:
  using Message = google::protobuf::Message;
  using Done = std::function<void(const Status& status)>;
  /// A call without an answer fails after this time.
  static constexpr Duration kTimeout = 10s;

  /// `context` outlives it.
  explicit ApiCalls(const ApiContext& context) : context_(context) {}
  /// No `done` runs afterwards.
  ~ApiCalls() = default;
  ApiCalls(const ApiCalls&) = delete;
  ApiCalls& operator=(const ApiCalls&) = delete;

  /// Fills `into` before `done` gets OK.
  void Get(const std::string& path, std::shared_ptr<Message> into, Done done);
  void Post(const std::string& path, const apiclient::Content& content,
            std::shared_ptr<Message> into, Done done);

 private:
  void Begin(apiclient::Request request, std::shared_ptr<Message> into, Done done);

  const ApiContext& context_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace splitlet::pod_worker
