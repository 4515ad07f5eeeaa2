#include "services/pod-worker/pod/sandbox_stop.h"

#include <utility>

#include "libs/base/fail_point.h"

namespace splitlet::pod_worker {

Status StopSandbox(cri::Runner& runner, const cri::SandboxId& id, Deadline deadline) {
  FAIL_POINT("pod-worker.stop-sandbox.before");
  const Status stopped = runner.StopPodSandbox(id, std::move(deadline));
  FAIL_POINT("pod-worker.stop-sandbox.after");
  return stopped.code() == StatusCode::kNotFound ? OkStatus() : stopped;
}

}  // namespace splitlet::pod_worker
