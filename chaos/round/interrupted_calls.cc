#include "chaos/round/interrupted_calls.h"

#include <algorithm>

#include "libs/operate/runtime_leaks.h"

namespace splitlet::chaos {
namespace {

/// The longest time of a call that makes or removes something, on a busy machine.
constexpr Duration kCall = 10s;

}  // namespace

void InterruptedCalls::OnListed(const Snapshot& listed, Duration now) {
  const auto seen = [&](const std::string& id) {
    listed_.try_emplace(id, now, now).first->second.second = now;
  };
  for (const auto& s : listed.sandboxes) seen(s.id);
  for (const auto& c : listed.containers) seen(c.id);
}

std::set<std::string> InterruptedCalls::Affected(const std::set<std::string>& resources) const {
  std::set<std::string> affected;
  for (const auto& resource : resources) {
    const auto span = listed_.find(operate::RuntimeIdOf(resource));
    const bool hit = span == listed_.end()
                         ? !times_.empty()  // the resource was just being created, or names no id
                         : std::ranges::any_of(times_, [&span](const Span& time) {
                             const auto& [first, last] = span->second;
                             return time.second >= first - kCall && time.first <= last + kCall;
                           });
    if (hit) affected.insert(resource);
  }
  return affected;
}

}  // namespace splitlet::chaos
