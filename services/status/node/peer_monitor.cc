#include "services/status/node/peer_monitor.h"

#include <chrono>
#include <utility>

#include "libs/bus/typed.h"

namespace splitlet::status {

PeerMonitor::PeerMonitor(Deps deps, const StatusConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      ledger_(config.answer_limits, config.reconcile_period * 2 + config.ask_timeout),
      started_(deps_.env.clock.Now()),
      asker_(deps_.env.loop, deps_.env.strands) {}

void PeerMonitor::AskAll() {
  for (const auto& [process, limit] : config_.answer_limits) Ask(process);
}

void PeerMonitor::Ask(const std::string& process) {
  const std::string key = "health/" + process;
  if (deps_.env.strands.Pending(key) > 0) return;
  asker_.Ask(
      key,
      [process, &peers = deps_.peers, deadline = After(deps_.env.clock, config_.ask_timeout)] {
        return peers.Ask(process, deadline);
      },
      [this, process](const StatusOr<peers::PeerAnswer>& answer) { OnAnswer(process, answer); });
}

void PeerMonitor::AskSoon(const std::string& process) {
  if (std::exchange(asks_soon_, true)) return;
  const bool hurry = !was_ready_ && deps_.env.clock.Now() - started_ < config_.hurry;
  asker_.RunAfter(hurry ? config_.ask_soon : config_.ask_again, [this, process] {
    asks_soon_ = false;
    Ask(process);
  });
}

void PeerMonitor::OnAnswer(const std::string& process, const StatusOr<peers::PeerAnswer>& answer) {
  const auto now = deps_.env.clock.Now();
  const bool good = answer.ok() && answer->healthy;
  if (good) {
    ledger_.OnGood(process, now);
  } else {
    ledger_.OnBad(process, now, answer.ok() ? answer->reason : ToString(answer.status()));
  }
  const std::string features_before = bus::SerializeSorted(runtime_.features);
  if (process == "pleg") {
    // A pleg that has just started does not know the runtime: keep its last report.
    if (answer.ok() && answer->runtime && (answer->runtime->known || !runtime_.known))
      runtime_ = *answer->runtime;
    runtime_.pleg_errors =
        answer.ok() && answer->runtime ? answer->runtime->pleg_errors : std::vector<std::string>();
  }
  was_ready_ = was_ready_ || IsRuntimeReady(runtime_);
  if (process == "pleg" && !(was_ready_ && runtime_.features.known())) AskSoon(process);
  deps_.metrics.unanswered.Add({{"process", process}})
      .Set(std::chrono::duration<double>(ledger_.AskedWithoutAnswer(process)).count());
  deps_.on_answer();
  if (bus::SerializeSorted(runtime_.features) != features_before) deps_.on_features();
}

}  // namespace splitlet::status
