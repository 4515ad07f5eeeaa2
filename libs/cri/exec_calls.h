#pragma once

/// ExecSync over gRPC. Any number of commands run at the same time, but only a few answers are read
/// at the same time, because a pod may send 32 MiB, of which little is kept. A finished answer
/// waits in the runtime for its turn; HTTP/2 lets 64 KiB of it through before that.
/// In:      Begin; gRPC's callbacks of each call.
/// Owns:    the calls under way, each until its answer.
/// Out:     ExecSync through the channel.
/// Threads: any; `done` runs on a thread of gRPC's and must not block.
/// Errors:  gRPC codes, unchanged; INTERNAL: malformed answer.
/// Source:  CRI v1, ExecSync; docs/libraries.md, "gRPC".

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/cri_metrics.h"

namespace grpc {
class Channel;
}

namespace splitlet::cri {

/// A limited number of turns, which waiting calls get in order. The next call may start on the
/// thread of the call that ends.
class AnswerTurns {
 public:
  explicit AnswerTurns(size_t at_once) : free_(at_once) {}
  using Start = std::function<void()>;
  void Enter(Start start);
  void Leave();

 private:
  std::mutex mutex_;
  size_t free_;
  std::deque<Start> waiting_;
};

class ExecCalls {
 public:
  /// Each answer may use 32 MiB of memory until it is read.
  static constexpr size_t kAnswersAtOnce = 2;

  struct Deps {
    std::shared_ptr<grpc::Channel> channel;
    const Clock& clock;
    CriMetrics& metrics;
    CancelToken& given_up;  // ends all calls
  };
  explicit ExecCalls(Deps deps);
  ~ExecCalls();
  ExecCalls(const ExecCalls&) = delete;
  ExecCalls& operator=(const ExecCalls&) = delete;

  using Done = std::function<void(StatusOr<ExecResult>)>;
  void Begin(const ContainerId& id, const ExecCommand& command, const Deadline& deadline,
             Done done);
  /// Returns when no answer is pending.
  void WaitEnded();

 private:
  class Call;
  struct Stub;

  const Deps deps_;
  std::unique_ptr<Stub> stub_;
  AnswerTurns turns_{kAnswersAtOnce};
  std::mutex mutex_;
  std::condition_variable none_left_;
  size_t under_way_ = 0;
};

}  // namespace splitlet::cri
