#pragma once

/// Streams files to clients: logs of containers, which it can follow, and files of the node.
/// In:    allowed requests; the runtime's state of containers whose logs are followed.
/// Owns:  the streams, and the container of each.
/// Out:   chunks; each stream has a strand of its own.
/// Killed at any line: the connection ends with the process.
/// Threads: loop thread; files on strands.
/// Errors: before the first byte as an answer of 400, later as text at the end.
/// Source: docs/behaviour/node-api.md, "Logs of containers".

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/https/server.h"
#include "libs/logs/log_reader.h"
#include "services/node-api/logs/hold_below.h"
#include "services/node-api/pods/pod_views.h"

namespace splitlet::node_api {

class LogStreams {
 public:
  struct Deps {
    exec::EventLoop& loop;
    exec::Strands& strands;  // for streams only, because a following stream keeps its thread for
                             // hours
    std::shared_ptr<logs::LogFiles> files;  // log files of the node
    /// Folders in which the log of this container may be.
    std::function<std::shared_ptr<logs::LogFiles>(const std::string& container_id)> container_files;
    std::function<std::unique_ptr<logs::LogWatch>(const std::string& path)> watch;
  };
  static constexpr size_t kMaxStreams = 256;  // each stream takes a thread
  static constexpr size_t kMaxOfPod = 64;     // so that the owner of one pod cannot use up all
                                              // streams
  /// A stream holds at most six pieces for a client that does not read. Large pieces need fewer
  /// switches between reader and sender, so the first streams get them.
  static constexpr size_t kLargePiece = 128 << 10, kPiece = 32 << 10;  // bytes
  static constexpr size_t kLargeStreams = 16;

  explicit LogStreams(Deps deps) : deps_(std::move(deps)), asker_(deps_.loop, deps_.strands) {}
  LogStreams(const LogStreams&) = delete;
  LogStreams& operator=(const LogStreams&) = delete;

  struct Wanted {
    std::string path;
    logs::LogOptions options;
    std::string uid, container_id;  // UID of the pod, to notice when the container ends
    bool running = false;           // at the time of the request
  };
  void ServeLog(Wanted wanted, std::shared_ptr<https::Responder> responder);
  /// A whole file of the node, unchanged.
  void ServeFile(const HeldPath& file, std::shared_ptr<https::Responder> responder);
  /// Called when the view `runtime` changed: containers of followed logs may have ended.
  void OnRuntime(const PodViews& views);
  /// Cancels all streams.
  void Stop();
  size_t size() const { return serving_.size(); }

 private:
  /// Set on the loop, read on the strand.
  struct Flags {
    std::atomic<bool> running{false}, cancelled{false};
    size_t piece = kPiece;
  };
  struct Serving {
    std::string uid, container_id;
    std::shared_ptr<Flags> flags;
  };
  using Work = std::function<void(https::Stream& out, const Flags& flags)>;
  void Serve(Serving serving, std::shared_ptr<https::Responder> responder, Work work);

  Deps deps_;
  uint64_t last_ = 0;
  bool stopped_ = false;
  std::map<uint64_t, Serving> serving_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
