#include "services/pod-worker/termination/pod_runtime.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/pod/sandbox_stop.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

Status MayStop() {
  FAIL_POINT("pod-worker.stop-container.before");
  return OkStatus();
}

Status Answered(const Status& stopped) {
  FAIL_POINT("pod-worker.stop-container.after");
  return stopped.code() == StatusCode::kNotFound ? OkStatus() : stopped;
}

}  // namespace

StatusOr<v1::ObservedPod> PodRuntime::Inspect(const std::string& uid,
                                              const v1::ObservedPod* known) const {
  return Annotate(deps_.observer.Observe(uid, After(deps_.clock, deps_.request_timeout), known),
                  "error determining status");
}

void PodRuntime::BeginStopContainer(const PodRef& pod, const OneStop& stop,
                                    cri::LongCalls::Stopped done) const {
  if (const Status may = MayStop(); !may.ok()) return done(may);
  if (!stop.container.announced)
    PodEvents(deps_.events, pod).Normal("Killing", stop.container.message, stop.container.name);
  const Deadline deadline{
      deps_.clock.Now() + std::chrono::seconds{stop.grace_seconds} + deps_.request_timeout,
      stop.cancel};
  deps_.long_calls.BeginStopContainer(
      cri::ContainerId(stop.container.id), stop.grace_seconds, deadline,
      [name = stop.container.name, done = std::move(done)](const Status& stopped) {
        done(Annotate(Answered(stopped), "stop container " + name));
      });
  FAIL_POINT_VOID("pod-worker.stop-container.begun");
}

StatusOr<v1::ObservedPod> PodRuntime::StopSandboxes(const v1::ObservedPod& before,
                                                    const std::vector<std::string>& only) const {
  for (const auto& sandbox : before.sandboxes()) {
    if (!only.empty() && std::find(only.begin(), only.end(), sandbox.id()) == only.end()) continue;
    RETURN_IF_ERROR(StopSandbox(deps_.runner, cri::SandboxId(sandbox.id()),
                                After(deps_.clock, deps_.request_timeout)),
                    "stop sandbox {}", sandbox.id());
  }
  // The runtime may have learnt more about an ended container since.
  v1::ObservedPod known;
  *known.mutable_sandboxes() = before.sandboxes();
  ASSIGN_OR_RETURN(auto left, Inspect(before.uid(), &known), "after the stop");
  std::vector<std::string> running;
  for (const auto& record : left.containers()) {
    const bool ours =
        only.empty() || std::find(only.begin(), only.end(), record.sandbox_id()) != only.end();
    if (ours && record.state() == v1::ContainerRecord::RUNNING) running.push_back(record.id());
  }
  if (!running.empty())
    return Internal("detected running containers after a successful KillPod, CRI violation: [{}]",
                    fmt::join(running, " "));
  MergeObservation(before, left);
  return left;
}

}  // namespace splitlet::pod_worker
