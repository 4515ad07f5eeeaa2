#include "services/pod-worker/probes/network_prober.h"

#include <utility>

#include "services/pod-worker/probes/network_call.h"

namespace splitlet::pod_worker {

void NetworkProber::Begin(const ProbeCall& call, Done done) {
  const auto start = [this, call, done] { Ask(call, done); };
  if (!slots_.Enter(call.slow, start))
    done({.kind = ProbeAnswer::Kind::kError,
          .text = "too many probes wait for a slot to send a request"});
}

void NetworkProber::Ask(const ProbeCall& call, const Done& done) {
  const Clock::Time began = deps_.clock.Now();
  const auto answer = [this, call, done, began](ProbeAnswer found) {
    slots_.Leave(call.slow);
    found.took = deps_.clock.Now() - began;
    done(std::move(found));
  };
  auto exchange = ExchangeOf(call);
  if (!exchange)
    return deps_.loop.Post([answer, found = AnswerWithoutAddress(call.action)] { answer(found); });
  deps_.caller.Begin(
      std::move(*exchange), {began + call.timeout, stopped_},
      [this, call, answer](const http::Outcome& outcome) {
        deps_.loop.Post([answer, found = AnswerOf(call, outcome)] { answer(found); });
      });
}

void NetworkProber::BeginStop() {
  slots_.Close();
  stopped_->Cancel();
}

}  // namespace splitlet::pod_worker
