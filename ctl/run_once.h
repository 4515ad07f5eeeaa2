#pragma once

/// `run-once`: whether the pods of all manifests came to run, as the kubelet's --runonce reported.
/// A pod that is refused is no failure, and the node goes on afterwards.
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

/// Up: it has ended well, or every regular container runs. Refused: it was rejected, or waits for
/// room on the node. Failed: it has ended otherwise.
OnceResult JudgeOnce(const operate::PodView& view, WallTime now);

/// A pod that comes from a manifest and that its source still wants.
bool IsFromManifest(const operate::PodView& view);

/// Until every pod of a manifest runs, has succeeded or was refused, a line each; `timeout`: "5m".
/// ABORTED naming the pods that failed or were not in time.
Status RunOnce(const operate::Context& context, const std::string& timeout);

}  // namespace splitlet::ctl
