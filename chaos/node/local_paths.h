#pragma once

/// Where a local stack (deploy/local) has what a chaos run reads and breaks; absolute paths. Called
/// by LocalNode and what it consists of.
/// Threads: values.
/// Errors: FAILED_PRECONDITION for a stack that deploy/local/run.sh did not write.
/// Source: deploy/local/README.md.

#include <string>

#include "libs/base/status.h"

namespace splitlet::chaos {

struct LocalPaths {
  std::string top, manifests, logs, run, state, root, endpoint, node_name;
  // Of the API server that the stack has beside it; empty: none.
  std::string api_control, api_port;
  std::string work() const { return top + "/chaos"; }
  std::string witnesses() const { return work() + "/witness"; }
  /// What persistent volumes are.
  std::string volumes() const { return work() + "/volumes"; }
  /// Of a private containerd; empty when the runtime is somebody else's.
  std::string containerd() const;
  std::string ManifestPath(const std::string& pod) const;
  /// As the node names this pod.
  std::string FullName(const std::string& pod) const { return pod + "-" + node_name; }
};

/// Of the stack in the working directory: what its services are started with.
StatusOr<LocalPaths> FindLocalPaths();

}  // namespace splitlet::chaos
