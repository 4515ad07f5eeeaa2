#include "services/pod-worker/api/checkpoint_maker.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "libs/base/fail_point.h"
#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/checkpoints.pb.h"

namespace splitlet::pod_worker {
namespace {

constexpr Duration kRoomForTheAnswer = 5s;  // beside what the runtime may take
constexpr Duration kFindLimit = 20s;
constexpr uint32_t kFolderMode = 0700;

/// A kubelet's time.RFC3339 of the local time.
std::string LocalTime(WallTime at) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  const long minutes = std::abs(local.tm_gmtoff) / 60;
  const std::string zone = local.tm_gmtoff == 0
                               ? "Z"
                               : fmt::format("{}{:02}:{:02}", local.tm_gmtoff < 0 ? '-' : '+',
                                             minutes / 60, minutes % 60);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}", local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                     zone);
}

/// A step of a path, as the names of pods and containers are.
bool IsStep(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace

StatusOr<std::string> CheckpointFileName(const cri::Container& container, WallTime at) {
  const std::string pod = cri::LabelOf(container.labels, kube::kPodNameLabel);
  const std::string name_space = cri::LabelOf(container.labels, kube::kPodNamespaceLabel);
  for (const std::string& name : {pod, name_space, container.name})
    if (!IsStep(name)) return InvalidArgument("\"{}\" is no name for a file", name);
  return fmt::format("checkpoint-{}_{}-{}-{}.tar", pod, name_space, container.name, LocalTime(at));
}

std::chrono::seconds CheckpointMaker::TimeoutOf(const v1::CheckpointRequest& request) const {
  const std::chrono::seconds asked{
      std::min<int64_t>(request.timeout_seconds(), kLongestCheckpoint.count())};
  return std::max(asked, deps_.least_timeout);
}

/// The runtime knows containers that are no pod's of this node: only those of the pod count.
StatusOr<cri::Container> CheckpointMaker::FindRunning(const v1::CheckpointRequest& request,
                                                      const Deadline& deadline) const {
  const auto containers = deps_.reader.ListContainers({.pod_uid = request.uid()}, deadline);
  if (!containers.ok()) return Annotate(containers.status(), "list the pod's containers");
  const auto found =
      std::ranges::find(*containers, cri::ContainerId(request.container_id()), &cri::Container::id);
  if (found == containers->end())
    return NotFound("container {} is none of this pod", request.container_id());
  if (found->state != cri::ContainerState::kRunning)
    return FailedPrecondition("container {} does not run", found->name);
  return *found;
}

StatusOr<std::string> CheckpointMaker::Make(const v1::CheckpointRequest& request) {
  const auto container = FindRunning(request, After(deps_.clock, kFindLimit));
  if (!container.ok()) return container.status();
  ASSIGN_OR_RETURN(const std::string name, CheckpointFileName(*container, deps_.clock.WallNow()),
                   "name the archive");
  RETURN_IF_ERROR(deps_.files.MakeDirs(deps_.folder, kFolderMode), "make {}", deps_.folder);
  const std::string location = deps_.folder + "/" + name;
  FAIL_POINT("pod-worker.checkpoint.before");
  const std::chrono::seconds timeout = TimeoutOf(request);
  Deadline deadline = After(deps_.clock, timeout + kRoomForTheAnswer);
  deadline.cancel = deps_.ending;
  const Status made =
      deps_.checkpointer.CheckpointContainer(container->id, location, timeout, deadline);
  FAIL_POINT("pod-worker.checkpoint.after");
  if (!made.ok()) return made;
  return location;
}

}  // namespace splitlet::pod_worker
