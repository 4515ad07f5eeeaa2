#pragma once

/// Resources of a node that its runtime no longer knows, so that CRI cannot remove them. Resources
/// are lines of HostResourcesOf.
/// Called by chaos and by the tests on a real runtime.
/// Threads: pure functions, any.
/// Errors: none.

#include <optional>
#include <set>
#include <string>

namespace splitlet::operate {

/// Id of the sandbox or container of such a resource; empty: none.
std::string RuntimeIdOf(const std::string& resource);

/// Resources whose id the runtime does not list. `listed`: ids of all sandboxes and containers;
/// nullopt: no answer. A resource without an id belongs to a pod, except that network namespaces
/// and links name no sandbox; these count as leaked if the list is empty.
std::set<std::string> RuntimeLeaksOf(const std::set<std::string>& resources,
                                     const std::optional<std::set<std::string>>& listed);

}  // namespace splitlet::operate
