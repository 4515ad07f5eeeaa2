#pragma once

/// Answers calls to servers in pods with outcomes that a test sets.
/// Threads: one.

#include <utility>
#include <vector>

#include "libs/http/caller.h"

namespace splitlet::http {

class FakeCaller final : public Caller {
 public:
  struct Held {
    Exchange exchange;
    Deadline deadline;
    Done done;
  };
  void Begin(Exchange exchange, Deadline deadline, Done done) override {
    asked.push_back(exchange);
    if (hold) return held.push_back({std::move(exchange), std::move(deadline), std::move(done)});
    Outcome outcome = answer ? answer(exchange) : Outcome{};
    if (outcome.url.empty()) outcome.url = exchange.url;
    done(std::move(outcome));
  }
  std::function<Outcome(const Exchange&)> answer;
  bool hold = false;  // calls wait in `held`
  std::vector<Held> held;
  std::vector<Exchange> asked;
};

}  // namespace splitlet::http
