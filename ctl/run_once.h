#pragma once

/// `run-once`: whether the pods of all manifests came to run, as the kubelet's --runonce told.
/// Threads: the main one. Errors: ABORTED naming the pods that did not come up. Source: kubelet
/// runOnce; a pod that is refused is no failure, and the node goes on afterwards.

#include <string>

#include "ctl/commands.h"
#include "ctl/pods.h"

namespace splitlet::ctl {

struct OnceResult {
  enum class Outcome { kWaiting, kUp, kRefused, kFailed };
  Outcome outcome = Outcome::kWaiting;
  std::string text;  // "Running", "refused: NodePorts: ...", "ErrImagePull"
};

/// Up: it has ended well, or every regular container runs. Refused: it was rejected, or waits for
/// room on the node. Failed: it has ended otherwise.
OnceResult JudgeOnce(const PodView& view, WallTime now);

/// A pod that comes from a manifest and that its source still wants.
bool IsFromManifest(const PodView& view);

}  // namespace splitlet::ctl
