#pragma once

/// What a node has that its runtime has lost sight of, so that nobody can have it removed through
/// CRI. Resources are lines as Node::HostResources gives them.
/// Called by LocalNode and by the report.
/// Threads: pure functions, any.
/// Errors: none.

#include <set>
#include <string>

#include "chaos/node/node.h"

namespace splitlet::chaos {

/// The id of the sandbox or container that such a resource belongs to; empty: of none.
std::string RuntimeIdOf(const std::string& resource);

/// Those whose id the runtime does not list. What has no id is somebody's, but for a network
/// namespace: its name tells no sandbox, so it is nobody's only when there is none.
std::set<std::string> RuntimeLeaksOf(const std::set<std::string>& resources,
                                     const Snapshot& listed);

}  // namespace splitlet::chaos
