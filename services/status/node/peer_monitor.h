#pragma once

/// Asks the other processes for their health.
/// In:    "ask now" of StatusService, each 10 s, and pleg sooner until the runtime was ready once;
/// the answers.
/// Owns:  how long each process has left questions without a good answer; what pleg last said of
/// the runtime.
/// Out:   health calls; `on_answer` after each answer, `on_features` when the runtime can do more
/// or less than before.
/// Killed at any line: the times begin anew with the next start.
/// Threads: loop thread; the calls run on strands.
/// Errors: an answer that does not come is a bad one.
/// Source: docs/safety.md, rule 24.

#include <functional>
#include <memory>
#include <string>

#include "libs/exec/exec.h"
#include "libs/peers/peer_health.h"
#include "services/status/config.h"
#include "services/status/metrics.h"
#include "services/status/node/conditions.h"

namespace splitlet::status {

class PeerMonitor {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    peers::PeerHealth& peers;
    StatusMetrics& metrics;
    std::function<void()> on_answer, on_features;
  };
  PeerMonitor(Deps deps, const StatusConfig& config);
  ~PeerMonitor();
  PeerMonitor(const PeerMonitor&) = delete;
  PeerMonitor& operator=(const PeerMonitor&) = delete;

  void AskAll();
  const AnswerLedger& ledger() const { return ledger_; }
  const peers::RuntimeState& runtime() const { return runtime_; }

 private:
  void Ask(const std::string& process);
  /// Pods, and the node, wait for what it has not been able to say.
  void AskSoon(const std::string& process);
  void OnAnswer(const std::string& process, const StatusOr<peers::PeerAnswer>& answer);

  Deps deps_;
  const StatusConfig& config_;
  AnswerLedger ledger_;
  peers::RuntimeState runtime_;
  const Clock::Time started_;
  bool asks_soon_ = false, was_ready_ = false;
  std::shared_ptr<bool> alive_;
};

}  // namespace splitlet::status
