#include "tests/harness/kubelet_records.h"

#include <fmt/format.h>

#include <filesystem>

#include "libs/cri/grpc_runtime.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::harness {
namespace {

constexpr auto kCallLimit = std::chrono::seconds{60};
constexpr const char* kImage = "splitlet.local/busybox:1";
constexpr const char* kScript = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

template <class Map>
void AddPodLabels(const KubeletPod& pod, Map& labels) {
  labels["io.kubernetes.pod.name"] = pod.FullName();
  labels["io.kubernetes.pod.namespace"] = "default";
  labels["io.kubernetes.pod.uid"] = pod.uid;
}

runtime::v1::PodSandboxConfig SandboxOf(const KubeletPod& pod) {
  runtime::v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name(pod.FullName());
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_uid(pod.uid);
  config.set_hostname(pod.FullName());
  config.set_log_directory(pod.LogDirectory());
  AddPodLabels(pod, *config.mutable_labels());
  auto& annotations = *config.mutable_annotations();
  annotations["kubernetes.io/config.hash"] = pod.uid;
  annotations["kubernetes.io/config.seen"] = "2026-01-02T03:04:05.123456789Z";
  annotations["kubernetes.io/config.source"] = "file";
  return config;
}

runtime::v1::ContainerConfig ContainerOf(const KubeletPod& pod, const std::string& name,
                                         uint32_t attempt) {
  const std::map<std::string, std::string> hashes = {
      {"app", kAppHash}, {"side", kSideHash}, {"prepare", kPrepareHash}};
  runtime::v1::ContainerConfig config;
  config.mutable_metadata()->set_name(name);
  config.mutable_metadata()->set_attempt(attempt);
  config.mutable_image()->set_image(kImage);
  for (const char* word : {"/bin/sh", "-c", kScript}) config.add_command(word);
  config.set_log_path(fmt::format("{}/{}.log", name, attempt));
  AddPodLabels(pod, *config.mutable_labels());
  (*config.mutable_labels())["io.kubernetes.container.name"] = name;
  auto& annotations = *config.mutable_annotations();
  annotations["io.kubernetes.container.hash"] = hashes.at(name);
  annotations["io.kubernetes.container.restartCount"] = std::to_string(attempt);
  annotations["io.kubernetes.container.terminationMessagePath"] = "/dev/termination-log";
  annotations["io.kubernetes.container.terminationMessagePolicy"] = "File";
  annotations["io.kubernetes.pod.terminationGracePeriod"] = "2";
  return config;
}

}  // namespace

StatusOr<KubeletRecords> MakeKubeletRecords(RuntimeView& view, const KubeletPod& pod) {
  auto& runtime = view.runtime();
  const auto deadline = [&] { return After(view.clock(), kCallLimit); };
  const auto sandbox = SandboxOf(pod);
  ASSIGN_OR_RETURN(const auto image, runtime.ImageStatus({kImage}, deadline()), "image");
  if (!image.has_value())
    RETURN_IF_ERROR(runtime.PullImage(kImage, nullptr, sandbox, deadline()).status(), "pull");
  KubeletRecords records;
  ASSIGN_OR_RETURN(records.sandbox, runtime.RunPodSandbox(sandbox, "", deadline()), "sandbox");
  const auto start = [&](const std::string& name, uint32_t attempt) -> StatusOr<cri::ContainerId> {
    std::filesystem::create_directories(pod.LogDirectory() + "/" + name);
    ASSIGN_OR_RETURN(const auto id,
                     runtime.CreateContainer(records.sandbox, ContainerOf(pod, name, attempt),
                                             sandbox, deadline()),
                     "create");
    RETURN_IF_ERROR(runtime.StartContainer(id, deadline()), "start");
    return id;
  };
  if (pod.large) {
    ASSIGN_OR_RETURN(records.prepare, start("prepare", 0), "prepare");
    ASSIGN_OR_RETURN(records.side, start("side", 0), "side");
  }
  ASSIGN_OR_RETURN(records.exited, start("app", 1), "app");
  RETURN_IF_ERROR(runtime.StopContainer(records.exited, 2, deadline()), "stop");
  ASSIGN_OR_RETURN(records.running, start("app", 2), "app");
  return records;
}

std::string ManifestOf(const KubeletPod& pod) {
  const auto container = [](const char* name) {
    return fmt::format("  - name: {}\n    image: {}\n    command: [\"/bin/sh\", \"-c\", \"{}\"]\n",
                       name, kImage, kScript);
  };
  std::string yaml = fmt::format(R"(apiVersion: v1
kind: Pod
metadata:
  name: {}
  uid: {}
spec:
  terminationGracePeriodSeconds: 2
)",
                                 pod.name, pod.uid);
  if (pod.large) yaml += "  initContainers:\n" + container("prepare");
  yaml += "  containers:\n" + container("app");
  if (pod.large) yaml += container("side");
  return yaml;
}

}  // namespace splitlet::harness
