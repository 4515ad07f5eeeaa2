#pragma once

/// Requests for archives of running containers, which the runtime writes for pod-worker and which
/// may take minutes.
/// In:    allowed requests.
/// Owns:  the requests that wait for an archive.
/// Out:   calls to pod-worker, on strands.
/// Killed at any line: the archive may have been made or not; the client repeats its request.
/// Threads: loop thread; calls on strands.
/// Errors: answers in a kubelet's words.
/// Source: docs/behaviour/node-api.md, "Checkpoints".

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "libs/base/cancel.h"
#include "libs/base/status.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/https/server.h"
#include "services/node-api/pods/pod_calls.h"
#include "services/node-api/pods/pod_views.h"

namespace splitlet::node_api {

class Checkpoints {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    const PodViews& pods;
    std::shared_ptr<PodCalls> calls;
    uint64_t start_id;  // prefix of request ids, random for each start
  };
  static constexpr size_t kMaxWaiting = 4;  // each waiting request takes a thread

  explicit Checkpoints(Deps deps) : deps_(std::move(deps)), asker_(deps_.loop, deps_.strands) {}
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// `path`: decoded.
  void Serve(const std::string& path, const https::Request& request,
             std::shared_ptr<https::Responder> responder);
  /// Cancels all waiting requests.
  void Stop();

 private:
  struct Wanted {
    std::string name;  // "default/web/app"
    std::string uid, container_id, traceparent;
    int64_t timeout_seconds = 0;
  };
  void Make(const Wanted& wanted, std::shared_ptr<https::Responder> responder);

  Deps deps_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::shared_ptr<CancelToken>> waiting_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
