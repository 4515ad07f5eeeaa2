#include "services/status/node/peer_monitor.h"

#include <chrono>
#include <utility>

#include "libs/bus/typed.h"
#include "services/status/node/pleg_answer.h"

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

void PeerMonitor::AskPlegAfter(Duration wait) {
  if (std::exchange(asks_soon_, true)) return;
  asker_.RunAfter(wait, [this] {
    asks_soon_ = false;
    Ask("pleg");
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
  if (process == "pleg") runtime_ = AfterAnswer(runtime_, answer);
  was_ready_ = was_ready_ || IsRuntimeReady(runtime_);
  if (process == "pleg") {
    const RuntimeProgress progress{.was_ready = was_ready_,
                                   .features_known = runtime_.features.known()};
    if (const auto wait = AskPlegAgainAfter(config_, progress, now - started_)) AskPlegAfter(*wait);
  }
  deps_.metrics.unanswered.Add({{"process", process}})
      .Set(std::chrono::duration<double>(ledger_.AskedWithoutAnswer(process)).count());
  deps_.on_answer();
  if (bus::SerializeSorted(runtime_.features) != features_before) deps_.on_features();
}

}  // namespace splitlet::status
