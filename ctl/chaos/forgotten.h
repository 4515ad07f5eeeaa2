#pragma once

/// What a node has that its runtime has lost sight of, so that nobody can have it removed through
/// CRI. Things are lines as Node::Things gives them.
/// Threads: pure functions, any. Errors: none.

#include <set>
#include <string>

#include "ctl/chaos/node.h"

namespace splitlet::chaos {

/// The id of the sandbox or container that such a thing belongs to; empty: of none.
std::string IdOf(const std::string& thing);

/// Those whose id the runtime does not list. What has no id is somebody's, but for a network
/// namespace: its name tells no sandbox, so it is nobody's only when there is none.
std::set<std::string> ForgottenOf(const std::set<std::string>& things, const Snapshot& listed);

}  // namespace splitlet::chaos
