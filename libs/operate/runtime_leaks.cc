#include "libs/operate/runtime_leaks.h"

namespace splitlet::operate {
namespace {

bool IsOfANetwork(const std::string& resource) {
  return resource.starts_with("network namespace ") || resource.starts_with("link ");
}

}  // namespace

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
                                     const std::optional<std::set<std::string>>& listed) {
  std::set<std::string> leaks;
  if (!listed) return {};
  for (const auto& resource : resources) {
    const std::string id = RuntimeIdOf(resource);
    const bool nobodys =
        id.empty() ? IsOfANetwork(resource) && listed->empty() : !listed->contains(id);
    if (nobodys) leaks.insert(resource);
  }
  return leaks;
}

}  // namespace splitlet::operate
