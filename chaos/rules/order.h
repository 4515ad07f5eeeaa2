#pragma once

/// `order`: sidecars start before, and end after, the containers behind them in the spec. Made by
/// AllRules.
/// Owns:    when each container of a sandbox first started.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <optional>
#include <string>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// A sidecar may also end when the grace period is over.
class OrderRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  using Starts = std::map<std::string, std::optional<WallTime>>;  // name -> first start, if known
  void RecordStarts(const Snapshot& snapshot);
  void CheckStarts(const SeenSandbox& sandbox, const Starts& starts) const;
  void CheckStop(const EndedStop& ended, const Snapshot& snapshot) const;

  std::map<std::string, Starts> first_starts_;  // container starts by sandbox
};

}  // namespace splitlet::chaos
