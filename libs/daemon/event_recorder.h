#pragma once

/// Sends Kubernetes events to status in batches: best effort, bounded, never blocking. It drops and
/// counts new events above the bound, and events that status refuses for good.
/// Threads: Record any; sending on the strand "events". Nothing fails.
/// Source: docs/design.md, "The calls".

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "libs/base/status.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"

namespace splitlet::daemon {

class BatchingRecorder final : public EventRecorder {
 public:
  struct Deps {
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::function<Status(const std::vector<PodEvent>&)> send;  // may block; has a deadline
    std::function<void(size_t)> on_sent;
    std::function<void(size_t)> on_dropped;
  };
  static constexpr size_t kMaxWaiting = 1000;
  static constexpr size_t kMaxBatch = 100;

  explicit BatchingRecorder(Deps deps) : deps_(std::move(deps)) {}
  void Record(PodEvent event) override;

 private:
  void SendSoon(Duration delay);
  void SendBatch();
  std::vector<PodEvent> TakeBatch();
  void PutBack(std::vector<PodEvent> batch);

  Deps deps_;
  std::mutex mutex_;
  std::deque<PodEvent> waiting_;
  bool scheduled_ = false;
};

}  // namespace splitlet::daemon
