#include "ctl/chaos/forgotten.h"

#include <algorithm>

namespace splitlet::chaos {
namespace {

/// A call that makes or removes something takes that long at worst on a busy machine.
constexpr Duration kCall = 10s;

}  // namespace

std::string IdOf(const std::string& thing) {
  constexpr size_t kLength = 64;
  size_t run = 0;
  for (size_t i = 0; i < thing.size(); ++i) {
    const char c = thing[i];
    run = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? run + 1 : 0;
    if (run == kLength) return thing.substr(i + 1 - kLength, kLength);
  }
  return {};
}

std::set<std::string> ForgottenOf(const std::set<std::string>& things, const Snapshot& listed) {
  std::set<std::string> known, forgotten;
  if (!listed.runtime_answered) return {};
  for (const auto& s : listed.sandboxes) known.insert(s.id);
  for (const auto& c : listed.containers) known.insert(c.id);
  for (const auto& thing : things) {
    const std::string id = IdOf(thing);
    const bool nobodys = id.empty()
                             ? thing.starts_with("network namespace ") && listed.sandboxes.empty()
                             : !known.contains(id);
    if (nobodys) forgotten.insert(thing);
  }
  return forgotten;
}

void Cuts::OnListed(const Snapshot& listed, Duration now) {
  const auto seen = [&](const std::string& id) {
    lives_.try_emplace(id, now, now).first->second.second = now;
  };
  for (const auto& s : listed.sandboxes) seen(s.id);
  for (const auto& c : listed.containers) seen(c.id);
}

std::set<std::string> Cuts::Affected(const std::set<std::string>& things) const {
  std::set<std::string> affected;
  for (const auto& thing : things) {
    const auto life = lives_.find(IdOf(thing));
    const bool hit = life == lives_.end()
                         ? !cuts_.empty()  // it was being made, or its name tells nothing
                         : std::ranges::any_of(cuts_, [&life](const Span& cut) {
                             const auto& [first, last] = life->second;
                             return cut.second >= first - kCall && cut.first <= last + kCall;
                           });
    if (hit) affected.insert(thing);
  }
  return affected;
}

}  // namespace splitlet::chaos
