#include "ctl/chaos/forgotten.h"

namespace splitlet::chaos {

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

}  // namespace splitlet::chaos
