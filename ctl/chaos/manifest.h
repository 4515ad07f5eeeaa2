#pragma once

/// The manifest of a pod of a scenario, and what its container writes about itself.
/// Threads: pure functions, any. Errors: none. Units: seconds since the boot in a witness file.

#include <string>

#include "ctl/chaos/node.h"

namespace splitlet::chaos {

/// JSON. A pod with a script gets `witness_dir` of the node, where its container writes a line at
/// each start and each TERM.
std::string ManifestOf(const PodToRun& pod, const std::string& witness_dir);

/// "start 123.45\nterm 130.00\n", with the wall time of the boot. Other lines say nothing.
Witness ParseWitness(const std::string& text, WallTime boot);

}  // namespace splitlet::chaos
