#include "tests/e2e/kubelet_pod.h"

#include <fmt/format.h>
#include <sys/mount.h>

#include <filesystem>

#include "libs/cri/grpc_runtime.h"
#include "runtime/v1/api.pb.h"
#include "tests/harness/child.h"
#include "tests/harness/kubelet_records.h"

namespace splitlet::e2e {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto kCallLimit = 60s;
constexpr const char* kName = "web-node-1";
constexpr const char* kImage = "splitlet.local/busybox:1";
constexpr const char* kApp =
    "trap 'echo bye >> /scratch/ended; exit 0' TERM; "
    "while true; do echo line; cp /conf/WORD /data/seen; sleep 0.2; done";
constexpr const char* kSide = "trap 'exit 0' TERM; while true; do sleep 0.2; done";

cri::StringMap PodLabels(const KubeletPod& pod) {
  return {{"io.kubernetes.pod.name", kName},
          {"io.kubernetes.pod.namespace", "default"},
          {"io.kubernetes.pod.uid", pod.uid}};
}

template <class Map>
void Add(const cri::StringMap& from, Map& to) {
  for (const auto& [key, value] : from) to[key] = value;
}

runtime::v1::PodSandboxConfig SandboxOf(const KubeletPod& pod) {
  runtime::v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name(kName);
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_uid(pod.uid);
  config.set_hostname(kName);
  config.set_log_directory(fmt::format("{}/default_{}_{}", pod.log_root, kName, pod.uid));
  Add(PodLabels(pod), *config.mutable_labels());
  Add({{"tier", "front"}}, *config.mutable_labels());
  Add({{"example.com/note", "kept"},
       {"kubernetes.io/config.hash", pod.uid},
       {"kubernetes.io/config.seen", "2026-01-02T03:04:05.123456789Z"},
       {"kubernetes.io/config.source", "file"}},
      *config.mutable_annotations());
  auto& port = *config.add_port_mappings();
  port.set_container_port(8080);
  config.mutable_linux()->set_cgroup_parent(pod.CgroupPath());
  auto& names = *config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
  names.set_pid(runtime::v1::CONTAINER);
  return config;
}

/// One attempt: a kubelet's request, after the files that it creates before.
struct Attempt {
  std::string name, script;
  uint32_t number = 0;
};

runtime::v1::ContainerConfig ContainerOf(const KubeletPod& pod, const Attempt& attempt) {
  const std::map<std::string, std::string> hashes = {
      {"app", harness::kAppHash}, {"side", harness::kSideHash}, {"prepare", harness::kPrepareHash}};
  runtime::v1::ContainerConfig config;
  config.mutable_metadata()->set_name(attempt.name);
  config.mutable_metadata()->set_attempt(attempt.number);
  config.mutable_image()->set_image(kImage);
  for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), attempt.script})
    config.add_command(word);
  config.set_log_path(fmt::format("{}/{}.log", attempt.name, attempt.number));
  Add(PodLabels(pod), *config.mutable_labels());
  (*config.mutable_labels())["io.kubernetes.container.name"] = attempt.name;
  auto annotations = AnnotationsOfApp(static_cast<int>(attempt.number));
  annotations["io.kubernetes.container.hash"] = hashes.at(attempt.name);
  if (attempt.name != "app")
    for (const char* key :
         {"io.kubernetes.container.ports", "io.kubernetes.container.preStopHandler"})
      annotations.erase(key);
  Add(annotations, *config.mutable_annotations());
  const auto mount = [&config](const std::string& host, const std::string& inside, bool read_only) {
    auto& added = *config.add_mounts();
    added.set_host_path(host);
    added.set_container_path(inside);
    added.set_readonly(read_only);
  };
  if (attempt.name == "app") {
    mount(pod.Volume("empty-dir", "data"), "/data", false);
    mount(pod.Volume("empty-dir", "quick"), "/quick", false);
    mount(pod.Volume("configmap", "settings"), "/conf", true);
    mount(pod.scratch, "/scratch", false);
  }
  mount(pod.Directory() + "/etc-hosts", "/etc/hosts", false);
  const std::string end = fmt::format("{}/containers/{}/{:08x}", pod.Directory(), attempt.name,
                                      0xabc00u + attempt.number);
  harness::WriteFile(end, "");
  fs::permissions(end, fs::perms(0666));
  mount(end, "/dev/termination-log", false);
  auto& names = *config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
  names.set_pid(runtime::v1::CONTAINER);
  return config;
}

/// Written like the AtomicWriter, with the ready marks of its wrapped emptyDir.
Status MakeVolumes(const KubeletPod& pod) {
  const std::string settings = pod.Volume("configmap", "settings");
  const std::string set = "..2026_01_02_03_04_05.1234567890";
  fs::create_directories(settings + "/" + set);
  harness::WriteFile(settings + "/" + set + "/WORD", "old");
  fs::create_directory_symlink(set, settings + "/..data");
  fs::create_symlink("..data/WORD", settings + "/WORD");
  for (const char* name : {"data", "quick"}) {
    const std::string path = pod.Volume("empty-dir", name);
    fs::create_directories(path);
    const std::string options = "size=1048576";
    if (name == std::string("quick") &&
        mount("tmpfs", path.c_str(), "tmpfs", 0, options.c_str()) != 0)
      return FailedPrecondition("cannot mount a tmpfs");
    fs::permissions(path, fs::perms::all);
    harness::WriteFile(path + "/before", "of the kubelet");
  }
  for (const char* name : {"data", "quick", "wrapped_settings"}) {
    const std::string mark = pod.Directory() + "/plugins/kubernetes.io~empty-dir/" + name;
    fs::create_directories(mark);
    harness::WriteFile(mark + "/ready", "");
  }
  for (const char* name : {"prepare", "app", "side"})
    fs::create_directories(pod.Directory() + "/containers/" + name);
  harness::WriteFile(pod.Directory() + "/etc-hosts",
                     "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n");
  return OkStatus();
}

}  // namespace

std::string KubeletPod::LogOf(const std::string& container, int attempt) const {
  return fmt::format("{}/default_{}_{}/{}/{}.log", log_root, kName, uid, container, attempt);
}

cri::StringMap LabelsOfApp(const KubeletPod& pod) {
  auto labels = PodLabels(pod);
  labels["io.kubernetes.container.name"] = "app";
  return labels;
}

cri::StringMap AnnotationsOfApp(int attempt) {
  return {{"io.kubernetes.container.hash", harness::kAppHash},
          {"io.kubernetes.container.ports", R"([{"containerPort":8080,"protocol":"TCP"}])"},
          {"io.kubernetes.container.preStopHandler",
           R"({"exec":{"command":["touch","/scratch/before-the-end"]}})"},
          {"io.kubernetes.container.restartCount", std::to_string(attempt)},
          {"io.kubernetes.container.terminationMessagePath", "/dev/termination-log"},
          {"io.kubernetes.container.terminationMessagePolicy", "File"},
          {"io.kubernetes.pod.terminationGracePeriod", "5"}};
}

StatusOr<KubeletPodRecords> MakeKubeletPod(harness::RuntimeView& view, const KubeletPod& pod) {
  auto& runtime = view.runtime();
  const auto deadline = [&view] { return After(view.clock(), kCallLimit); };
  const auto config = SandboxOf(pod);
  RETURN_IF_ERROR(MakeVolumes(pod), "volumes");
  KubeletPodRecords records;
  ASSIGN_OR_RETURN(records.sandbox, runtime.RunPodSandbox(config, "", deadline()), "sandbox");
  const auto start = [&](const Attempt& attempt) -> StatusOr<cri::ContainerId> {
    fs::create_directories(fs::path(pod.LogOf(attempt.name, 0)).parent_path());
    ASSIGN_OR_RETURN(
        const auto id,
        runtime.CreateContainer(records.sandbox, ContainerOf(pod, attempt), config, deadline()),
        "create {}", attempt.name);
    RETURN_IF_ERROR(runtime.StartContainer(id, deadline()), "start {}", attempt.name);
    return id;
  };
  const auto run = [&](const Attempt& attempt) -> StatusOr<cri::ContainerId> {
    ASSIGN_OR_RETURN(const auto id, start(attempt), "run");
    const bool ended = harness::WaitFor(kCallLimit, [&] {
      const auto now = runtime.ContainerStatus(id, deadline());
      return now.ok() && now->state == cri::ContainerState::kExited;
    });
    if (!ended) return DeadlineExceeded("{} does not end", attempt.name);
    return id;
  };
  ASSIGN_OR_RETURN(records.prepare, run({.name = "prepare", .script = "exit 0"}), "prepare");
  ASSIGN_OR_RETURN(records.exited, run({.name = "app", .script = "exit 3", .number = 1}), "app");
  ASSIGN_OR_RETURN(records.side, start({.name = "side", .script = kSide}), "side");
  ASSIGN_OR_RETURN(records.app, start({.name = "app", .script = kApp, .number = 2}), "app");
  return records;
}

std::string ManifestOf(const KubeletPod& pod) {
  return fmt::format(R"(apiVersion: v1
kind: Pod
metadata:
  name: web
  uid: {0}
  labels: {{tier: front}}
  annotations: {{example.com/note: kept}}
spec:
  terminationGracePeriodSeconds: 5
  volumes:
  - {{name: data, emptyDir: {{}}}}
  - {{name: quick, emptyDir: {{medium: Memory, sizeLimit: 1Mi}}}}
  - {{name: settings, configMap: {{name: settings}}}}
  - {{name: scratch, hostPath: {{path: {1}}}}}
  initContainers:
  - {{name: prepare, image: "{2}", command: [/bin/sh, -c, exit 0]}}
  containers:
  - name: app
    image: {2}
    command: [/bin/sh, -c, "{3}"]
    ports: [{{containerPort: 8080}}]
    resources: {{requests: {{cpu: 100m, memory: 16Mi}}}}
    volumeMounts:
    - {{name: data, mountPath: /data}}
    - {{name: quick, mountPath: /quick}}
    - {{name: settings, mountPath: /conf}}
    - {{name: scratch, mountPath: /scratch}}
    lifecycle: {{preStop: {{exec: {{command: [touch, /scratch/before-the-end]}}}}}}
    readinessProbe: {{exec: {{command: [test, -e, /scratch/ready]}}, periodSeconds: 1}}
    livenessProbe: {{exec: {{command: [test, "!", -e, /scratch/dead]}}, periodSeconds: 1, failureThreshold: 1}}
  - {{name: side, image: "{2}", command: [/bin/sh, -c, "{4}"]}}
)",
                     pod.uid, pod.scratch, kImage, kApp, kSide);
}

}  // namespace splitlet::e2e
