#pragma once

/// Asks the other processes for their health.
/// In:    AskAll of StatusService every 10 s; a timer of its own for pleg until the runtime was
///        ready once; the answers.
/// Owns:  how long each process has not given a good answer; the last report of pleg about the
///        runtime.
/// Out:   health calls; `on_answer` after each answer; `on_features` when the features of the
///        runtime change.
/// Killed at any line: the next start measures the times from zero.
/// Threads: loop thread; the calls run on strands.
/// Errors: a call without an answer counts as a bad answer.
/// Source: docs/safety.md, rule 24.

#include <functional>
#include <string>

#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/peers/peer_health.h"
#include "services/status/config.h"
#include "services/status/metrics.h"
#include "services/status/node/conditions.h"

namespace splitlet::status {

class PeerMonitor {
 public:
  struct Deps {
    exec::Env env;
    peers::PeerHealth& peers;
    StatusMetrics& metrics;
    std::function<void()> on_answer, on_features;
  };
  PeerMonitor(Deps deps, const StatusConfig& config);
  PeerMonitor(const PeerMonitor&) = delete;
  PeerMonitor& operator=(const PeerMonitor&) = delete;

  void AskAll();
  const AnswerLedger& ledger() const { return ledger_; }
  const peers::RuntimeState& runtime() const { return runtime_; }

 private:
  void Ask(const std::string& process);
  void AskPlegAfter(Duration wait);
  void OnAnswer(const std::string& process, const StatusOr<peers::PeerAnswer>& answer);

  Deps deps_;
  const StatusConfig& config_;
  AnswerLedger ledger_;
  peers::RuntimeState runtime_;
  const Clock::Time started_;
  bool asks_soon_ = false, was_ready_ = false;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
