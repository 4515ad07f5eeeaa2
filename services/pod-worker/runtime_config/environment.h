#pragma once

/// The environment of a container and the expansion of $(VAR) in its command, arguments and values.
/// Threads: pure functions, any.
/// Errors:  the text of the container's waiting message; UNAVAILABLE while an address of the node
///          is not known.
/// Source:  docs/behaviour/runtime-config.md, "Environment and command".

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/pod/node_info.h"

namespace splitlet::pod_worker {

using Environment =
    std::vector<std::pair<std::string, std::string>>;  // in the order of the spec; names are unique

/// Replaces "$(NAME)" of known names, and "$$" by "$". Anything else stays. The result is not
/// expanded again.
std::string Expand(const std::string& text, const std::map<std::string, std::string>& known);
/// Calls `lookup` once for each occurrence of a name.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
std::string Expand(const std::string& text, const Lookup& lookup);

/// The files that `fileKeyRef`s of a container name, by volume and path: the text, or why it cannot
/// be read.
using EnvFiles = std::map<std::pair<std::string, std::string>, StatusOr<std::string>>;

struct EnvironmentInput {
  const kube::Pod& pod;
  const kube::Container& container;
  const NodeInfo& node;
  const PodAddresses& ips;
  EnvFiles files = {};
  const ObjectSource* objects = nullptr;  // null: this node has none
};
StatusOr<Environment> MakeEnvironment(const EnvironmentInput& input);

}  // namespace splitlet::pod_worker
