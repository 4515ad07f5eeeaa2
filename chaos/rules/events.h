#pragma once

/// `events`: the API server gets at most the allowed number of events of a pod in a minute. Made by
/// AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/event_rates.h"
#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Counts each occurrence.
class EventsRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  EventRates rates_;
};

}  // namespace splitlet::chaos
