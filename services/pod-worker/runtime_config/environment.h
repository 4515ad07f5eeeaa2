#pragma once

/// The environment of a container and the expansion of $(VAR) in its command, arguments and values.
/// Threads: pure functions, any.
/// Errors:  what the container's waiting message is to say; UNAVAILABLE while an address of the
///          node is not known.
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
#include "services/pod-worker/runtime_config/node_info.h"

namespace splitlet::pod_worker {

using Environment =
    std::vector<std::pair<std::string, std::string>>;  // in the order of the spec, each name once

/// "$(NAME)" replaced where known, "$$" is "$"; anything else stays. The result is not scanned
/// again.
std::string Expand(const std::string& text, const std::map<std::string, std::string>& known);
/// Each name is looked up once for each place where it stands.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
std::string Expand(const std::string& text, const Lookup& lookup);

/// The files that `fileKeyRef`s of a container name, by volume and path: their texts, or why there
/// is none.
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
