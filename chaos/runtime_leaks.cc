#include "chaos/runtime_leaks.h"

namespace splitlet::chaos {
std::string RuntimeIdOf(const std::string& resource) {
  constexpr size_t kLength = 64;
  size_t run = 0;
  for (size_t i = 0; i < resource.size(); ++i) {
    const char c = resource[i];
    run = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? run + 1 : 0;
    if (run == kLength) return resource.substr(i + 1 - kLength, kLength);
  }
  return {};
}

std::set<std::string> RuntimeLeaksOf(const std::set<std::string>& resources,
                                     const Snapshot& listed) {
  std::set<std::string> known, leaks;
  if (!listed.runtime_answered) return {};
  for (const auto& s : listed.sandboxes) known.insert(s.id);
  for (const auto& c : listed.containers) known.insert(c.id);
  for (const auto& resource : resources) {
    const std::string id = RuntimeIdOf(resource);
    const bool nobodys =
        id.empty() ? resource.starts_with("network namespace ") && listed.sandboxes.empty()
                   : !known.contains(id);
    if (nobodys) leaks.insert(resource);
  }
  return leaks;
}

}  // namespace splitlet::chaos
