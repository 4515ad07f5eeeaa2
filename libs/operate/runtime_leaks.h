#pragma once

/// What a node has that its runtime has lost sight of, so that nobody can have it removed through
/// CRI. Resources are lines as HostResourcesOf gives them.
/// Called by chaos and by the tests on a real runtime.
/// Threads: pure functions, any.
/// Errors: none.

#include <optional>
#include <set>
#include <string>

namespace splitlet::operate {

/// The id of the sandbox or container that such a resource belongs to; empty: of none.
std::string RuntimeIdOf(const std::string& resource);

/// Those whose id the runtime does not list; `listed`: ids of all sandboxes and containers, nothing
/// when the runtime did not answer. What has no id is somebody's, but for a network namespace and
/// a link: their names tell no sandbox, so they are nobody's only when nothing is listed.
std::set<std::string> RuntimeLeaksOf(const std::set<std::string>& resources,
                                     const std::optional<std::set<std::string>>& listed);

}  // namespace splitlet::operate
