#pragma once

/// `run-once`: waits until the pods of all manifests run, like the kubelet's --runonce. A refused
/// pod is no failure. The node keeps running afterwards.
/// Threads: the main one.
/// Errors: ABORTED naming the pods that did not come up.
/// Source: kubelet runOnce.

#include <string>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

struct OnceResult {
  enum class Outcome { kWaiting, kUp, kRefused, kFailed };
  Outcome outcome = Outcome::kWaiting;
  std::string text;  // "Running", "refused: NodePorts: ...", "ErrImagePull"
};

/// Up: succeeded, or every regular container runs. Refused: rejected, or waiting for resources of
/// the node. Failed: the pod failed.
OnceResult JudgeOnce(const operate::PodView& view, WallTime now);

/// A pod from a manifest that its source still wants.
bool IsFromManifest(const operate::PodView& view);

/// Prints a line for each pod; returns when every pod runs, has succeeded or was refused.
/// `timeout`: "5m". ABORTED with the names of pods that failed or were not in time.
Status RunOnce(const operate::Context& context, const std::string& timeout);

}  // namespace splitlet::ctl
