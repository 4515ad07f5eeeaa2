#pragma once

/// Makes the manifest of a scenario's pod, or its object at the API server, and parses what its
/// container writes about itself. Called by LocalNode.
/// Threads: pure functions, any.
/// Errors: none.
/// Units: seconds since the boot in a witness file.

#include <string>
#include <utility>
#include <vector>

#include "chaos/node/node.h"

namespace splitlet::chaos {

struct Place {
  std::string witness_dir;  // directory where containers write a line at each start, TERM and hook
  int processors = 1;       // CPUs of the node
  std::string node;         // name of the node
};

/// Label of each pod: the version of its PodToRun.
inline constexpr const char* kVersionLabel = "splitlet.dev/version";

/// Objects that pods of the API server with `volumes` refer to: path, and JSON on one line. Claims
/// use persistent volumes of this node in FoldersOfVolumes, which the caller creates.
std::vector<std::pair<std::string, std::string>> ObjectsOfVolumes(const std::string& folder,
                                                                  const std::string& node);
std::vector<std::string> FoldersOfVolumes(const std::string& folder);

/// JSON, on one line for the API server. Only a pod with a script has a witness and a CPU request.
std::string ManifestOf(const PodToRun& pod, const Place& place);

/// Parses "start 123.45\nterm 130.00\n", with the wall time of the boot. Ignores other lines.
Witness ParseWitness(const std::string& text, WallTime boot);

}  // namespace splitlet::chaos
