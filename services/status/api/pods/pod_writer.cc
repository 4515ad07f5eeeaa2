#include "services/status/api/pods/pod_writer.h"

#include <charconv>

#include "libs/base/fail_point.h"
#include "services/status/api/pods/status_patch.h"

namespace splitlet::status {
namespace {

std::optional<uint64_t> NumberOf(const std::string& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

StatusOr<kube::Pod> SendPatch(apiclient::Client& client, const PodObject& object,
                              const std::string& patch, const Deadline& deadline) {
  FAIL_POINT("status.patch-pod.before");
  kube::Pod answer;
  const Status status =
      client.Patch(PathOf(object) + "/status", {apiclient::PatchType::kStrategicMerge, patch},
                   &answer, deadline);
  FAIL_POINT("status.patch-pod.after");
  if (!status.ok()) return status;
  return answer;
}

Status SendDelete(apiclient::Client& client, const PodObject& object, const Deadline& deadline) {
  FAIL_POINT("status.delete-pod.before");
  const Status status =
      client.Delete(PathOf(object), {.uid = object.uid, .grace_period_seconds = 0}, deadline);
  FAIL_POINT("status.delete-pod.after");
  return status;
}

}  // namespace

std::shared_ptr<const ServerPod> ServerPodOf(const kube::Pod& pod) {
  auto server = std::make_shared<ServerPod>();
  server->uid = pod.metadata().uid();
  server->version = pod.metadata().resource_version();
  server->deleting = pod.metadata().has_deletion_timestamp();
  server->status = pod.status();
  return server;
}

std::optional<bool> IsLater(const std::string& a, const std::string& b) {
  if (a == b) return false;
  const auto first = NumberOf(a), second = NumberOf(b);
  if (!first || !second) return std::nullopt;
  return *first > *second;
}

Written WriteStatus(apiclient::Client& client, const WriteTask& task, const Deadline& deadline) {
  std::shared_ptr<const ServerPod> base = task.base;
  if (base == nullptr) {
    kube::Pod pod;
    const Status got = client.Get(PathOf(task.object), &pod, deadline);
    if (got.code() == StatusCode::kNotFound) return {.status = OkStatus(), .gone = true};
    if (!got.ok()) return {.status = Annotate(got, "read the pod")};
    base = ServerPodOf(pod);
  }
  // The pod was deleted and another one was created under its name.
  if (base->uid != task.object.uid) return {.status = OkStatus(), .gone = true};
  kube::PodStatus ours;
  if (!ours.ParseFromString(task.status))
    return {.status = DataLoss("cannot decode the status in its record")};
  const std::string patch = MakeStatusPatch(
      task.object.uid, base->status,
      MergeStatus(base->status, ours, {.mirror = task.mirror, .keep_times = task.first}));
  if (patch.empty()) return {.status = OkStatus(), .server = base};
  const auto answer = SendPatch(client, task.object, patch, deadline);
  if (answer.status().code() == StatusCode::kNotFound) return {.status = OkStatus(), .gone = true};
  if (!answer.ok()) return {.status = Annotate(answer.status(), "patch the status")};
  return {.status = OkStatus(), .server = ServerPodOf(*answer)};
}

Status DeletePod(apiclient::Client& client, const PodObject& object, const Deadline& deadline) {
  const Status status = SendDelete(client, object, deadline);
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

}  // namespace splitlet::status
