#pragma once

/// The list of rules. Called by Checker.
/// Threads: one.
/// Errors:  none.

#include <memory>
#include <vector>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// In the order in which Checker feeds them.
std::vector<std::unique_ptr<Rule>> AllRules(const RuleContext& context);

}  // namespace splitlet::chaos
