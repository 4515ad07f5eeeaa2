#pragma once

/// PUT /debug/flags/v: sets the log level of each process of this node, until that process ends.
/// In:    allowed requests.
/// Owns:  requests whose calls are under way.
/// Out:   Admin.SetLogLevel of every process, node-api included, on strands.
/// Killed at any line: some processes have the new level; the client gets no answer and repeats its
///        request.
/// Threads: loop thread; calls on strands, one after the other for a process.
/// Errors: answers in a kubelet's words: 406, 400, and 500 naming the processes that failed.
/// Source: docs/behaviour/node-api.md, "The level of logs".

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/https/server.h"
#include "services/node-api/http/call_options.h"

namespace grpc {
class Channel;
}

namespace splitlet::node_api {

/// Calls to the processes for node-api.
/// Threads: strands; calls block up to their deadline.
class LevelTarget {
 public:
  virtual ~LevelTarget() = default;
  virtual Status Set(const std::string& process, LogLevel level, const CallOptions& options) = 0;
};
std::unique_ptr<LevelTarget> MakeLevelTarget(
    const Clock& clock,
    std::function<std::shared_ptr<grpc::Channel>(const std::string& process)> peer);

class LogLevels {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<LevelTarget> target;
    std::vector<std::string> processes;
  };
  static constexpr int kMaxWaiting = 4;  // limit of requests in progress

  explicit LogLevels(Deps deps) : deps_(std::move(deps)), asker_(deps_.loop, deps_.strands) {}
  LogLevels(const LogLevels&) = delete;
  LogLevels& operator=(const LogLevels&) = delete;

  void Serve(const https::Request& request, std::shared_ptr<https::Responder> responder);

 private:
  struct Asked {
    std::string verbosity;  // as the client sent it
    size_t left = 0;        // number of processes that have not answered
    std::vector<std::string> failed;
    std::shared_ptr<https::Responder> responder;
  };
  void OnSet(const std::shared_ptr<Asked>& asked, const std::string& process, const Status& set);

  Deps deps_;
  int waiting_ = 0;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
