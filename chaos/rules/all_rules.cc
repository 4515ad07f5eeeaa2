#include "chaos/rules/all_rules.h"

#include "chaos/rules/ends.h"
#include "chaos/rules/events.h"
#include "chaos/rules/grace.h"
#include "chaos/rules/hooks.h"
#include "chaos/rules/no_rerun.h"
#include "chaos/rules/one_of_each.h"
#include "chaos/rules/order.h"
#include "chaos/rules/processes.h"
#include "chaos/rules/restarts.h"
#include "chaos/rules/resurrected.h"
#include "chaos/rules/room.h"
#include "chaos/rules/runs.h"
#include "chaos/rules/server.h"
#include "chaos/rules/status.h"
#include "chaos/rules/terminal.h"
#include "chaos/rules/unharmed.h"
#include "chaos/rules/unwanted.h"

namespace splitlet::chaos {
namespace {

template <class... Rules>
std::vector<std::unique_ptr<Rule>> Make(const RuleContext& context) {
  std::vector<std::unique_ptr<Rule>> rules;
  (rules.push_back(std::make_unique<Rules>(context)), ...);
  return rules;
}

}  // namespace

std::vector<std::unique_ptr<Rule>> AllRules(const RuleContext& context) {
  return Make<ProcessBackRule, MemoryRule, DescriptorsRule, NoRerunRule, HooksRule, TerminalRule,
              OneContainerRule, OneSandboxRule, OnePodRule, ResurrectedRule, EventsRule, OrderRule,
              RoomRule, GraceRule, UnharmedRule, RunsRule, EndsRule, StatusRule, RestartsRule,
              ServerRule, UnwantedRule>(context);
}

}  // namespace splitlet::chaos
