#pragma once

/// What pods leave on the host of a local stack, and how it is removed by hand. Called by
/// LocalNode, and by Reboot for cgroups.
/// Threads: any.
/// Errors: none; what cannot be read is not there, what cannot be removed stays.

#include <set>
#include <string>
#include <vector>

#include "chaos/node/local_paths.h"

namespace splitlet::chaos {

/// See Node::HostResources. `ids`: of sandboxes and containers, for cgroups.
std::set<std::string> HostResourcesOf(const LocalPaths& paths, const std::set<std::string>& ids);

/// Kills, unmounts, removes.
void RemoveHostResource(const LocalPaths& paths, const std::string& resource);

/// Groups named by sandboxes and containers of these ids, wherever the runtime puts them.
std::vector<std::string> CgroupsOf(const std::set<std::string>& ids);

}  // namespace splitlet::chaos
