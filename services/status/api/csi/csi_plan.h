#pragma once

/// When the CSINode keeps the node from being Ready, and when a failed round is repeated. Pure.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/csi-node.md; kubelet initializeCSINode.

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::status {

/// The Node and the CSINode as this process knows them.
struct CsiNodeKnown {
  std::string node_uid;         // of the Node at the server; empty: not known yet
  std::string initialised_for;  // UID of the Node whose CSINode was seen; empty: none
  std::string ready_at_start;   // UID of the Node if the server showed it as Ready at first
  int failures = 0;             // rounds without success, one after the other
  Status last_error;            // of the last one
};

/// A message for the condition Ready; empty: the node may be Ready.
std::string CsiNodeProblem(const CsiNodeKnown& known);

/// The wait before the next round. `before`: the wait before the round that failed; 0: there was
/// none.
Duration CsiRetryWait(Duration before);

}  // namespace splitlet::status
