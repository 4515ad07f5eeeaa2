#pragma once

/// Absolute paths of a local stack (deploy/local) that a chaos run reads and breaks. Used by
/// LocalNode and its parts.
/// Threads: values.
/// Errors: FAILED_PRECONDITION for a stack that deploy/local/run.sh did not write.
/// Source: deploy/local/README.md.

#include <string>

#include "libs/base/status.h"

namespace splitlet::chaos {

struct LocalPaths {
  std::string top, manifests, logs, run, state, root, endpoint, node_name;
  // The stack's API server; empty: none.
  std::string api_control, api_port;
  std::string work() const { return top + "/chaos"; }
  std::string witnesses() const { return work() + "/witness"; }
  /// Folder of the persistent volumes.
  std::string volumes() const { return work() + "/volumes"; }
  /// Folder of the private containerd; empty: the stack uses another runtime.
  std::string containerd() const;
  std::string ManifestPath(const std::string& pod) const;
  /// The node's name of this pod.
  std::string FullName(const std::string& pod) const { return pod + "-" + node_name; }
};

/// Paths of the stack in the working directory, from the flags of its services.
StatusOr<LocalPaths> FindLocalPaths();

}  // namespace splitlet::chaos
