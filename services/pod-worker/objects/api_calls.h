#pragma once

/// Short calls to an API server that hold no thread: begun on the loop, answered there.
/// In:      what its owner asks for.
/// Out:     one request each; answers on the loop.
/// Threads: the loop's.
/// Errors:  those of the transport and of apiclient::StatusOf. Nothing is tried again here.
/// Killed:  nobody waits for an answer; the next start asks again.

#include <functional>
#include <memory>
#include <string>

#include "libs/apiclient/transport.h"
#include "libs/exec/exec.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::pod_worker {

class ApiCalls {
 public:
  using Message = google::protobuf::Message;
  using Done = std::function<void(const Status& status)>;
  /// After it a call has failed.
  static constexpr Duration kTimeout = 10s;

  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    apiclient::Transport& transport;
  };
  explicit ApiCalls(Deps deps) : deps_(deps) {}
  /// No answer comes after it.
  ~ApiCalls() = default;
  ApiCalls(const ApiCalls&) = delete;
  ApiCalls& operator=(const ApiCalls&) = delete;

  /// `into`: filled before `done` when that gets OK.
  void Get(const std::string& path, std::shared_ptr<Message> into, Done done);
  /// `json`: an object with its kind.
  void Post(const std::string& path, std::string json, std::shared_ptr<Message> into, Done done);

 private:
  void Begin(apiclient::Request request, std::shared_ptr<Message> into, Done done);

  const Deps deps_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace splitlet::pod_worker
