#pragma once

/// ExecSync over gRPC. Any number of commands run at a time, but only a few of their answers come
/// in at a time: a pod may make one 32 MiB long, of which little is kept. An answer that is ready
/// waits in the runtime for its turn; HTTP/2 lets 64 KiB of it through before.
/// In:      Begin; what gRPC reports of each call.
/// Owns:    the calls under way, each until its answer has been told.
/// Out:     ExecSync through the channel.
/// Threads: any; `done` runs on a thread of gRPC's and must not block.
/// Errors:  gRPC codes, unchanged; INTERNAL for an answer that is none.
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

/// So many at a time; others wait in order. What is started may run on the thread of whoever
/// leaves.
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
  /// Each may have 32 MiB in memory until it is read.
  static constexpr size_t kAnswersAtOnce = 2;

  struct Deps {
    std::shared_ptr<grpc::Channel> channel;
    const Clock& clock;
    CriMetrics& metrics;
    CancelToken& given_up;  // of all calls
  };
  explicit ExecCalls(Deps deps);
  ~ExecCalls();
  ExecCalls(const ExecCalls&) = delete;
  ExecCalls& operator=(const ExecCalls&) = delete;

  using Done = std::function<void(StatusOr<ExecResult>)>;
  void Begin(const ContainerId& id, const ExecCommand& command, const Deadline& deadline,
             Done done);
  /// Returns when no answer is on its way any more.
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
