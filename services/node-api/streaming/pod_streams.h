#pragma once

/// Serves exec, attach, portForward and run. For the first three pod-worker requests a stream from
/// the runtime, and node-api forwards its bytes. For run pod-worker executes the command itself.
/// In:    allowed requests.
/// Owns:  the number of waiting calls.
/// Out:   calls to pod-worker, on strands; connections forwarded to the runtime's streaming server.
/// Killed at any line: the connections end with the process, and with them the commands.
/// Threads: loop thread; calls on strands.
/// Errors: answers in a kubelet's words.
/// Source: docs/behaviour/node-api.md, "Streams".

#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/https/server.h"
#include "services/node-api/http/routes.h"
#include "services/node-api/pods/pod_calls.h"
#include "services/node-api/pods/pod_views.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::node_api {

class PodStreams {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    const PodViews& pods;
    std::shared_ptr<PodCalls> calls;
  };
  /// Limits: streams waiting to be opened, as many as connections; and running commands.
  static constexpr int kMaxWaiting = 1000, kMaxRunning = 16;
  /// Limit of streams opened at the same time, within that of pod-worker. Streams of one pod share
  /// a lane, so a pod that hangs delays few others, and no request is refused because of it.
  static constexpr size_t kLanes = 4;

  explicit PodStreams(Deps deps) : deps_(std::move(deps)), asker_(deps_.loop, deps_.strands) {}

  /// `path`: decoded. Routes kExec, kAttach, kPortForward and kRun.
  struct Asked {
    Route route = Route::kExec;
    std::string path;
    std::string user;  // for pod-worker's log
    https::Request request;
    std::shared_ptr<https::Responder> responder;
  };
  void Serve(Asked asked);

 private:
  void Open(v1::OpenStreamRequest request, Asked asked);
  void OnOpened(const Asked& asked, const StatusOr<std::string>& url);
  void Run(const PodSeen& seen, const std::string& container, Asked asked);

  Deps deps_;
  uint64_t last_ = 0;
  int waiting_ = 0, running_ = 0;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
