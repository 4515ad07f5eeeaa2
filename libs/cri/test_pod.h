#pragma once

/// CRI messages of a small pod, as splitlet labels them, for tests.
/// Threads: values; nothing fails.

#include <string>

#include "runtime/v1/api.pb.h"

namespace splitlet::cri {

struct TestPod {
  std::string name, uid;
  std::string name_space = "default";
  uint32_t attempt = 0;
  bool host_network = false;

  runtime::v1::PodSandboxConfig Config() const {
    runtime::v1::PodSandboxConfig config;
    config.mutable_metadata()->set_name(name);
    config.mutable_metadata()->set_namespace_(name_space);
    config.mutable_metadata()->set_uid(uid);
    config.mutable_metadata()->set_attempt(attempt);
    config.set_log_directory("/var/log/pods/" + name_space + "_" + name + "_" + uid);
    AddPodLabels(config.mutable_labels());
    (*config.mutable_annotations())["kubernetes.io/config.source"] = "file";
    (*config.mutable_annotations())["splitlet.dev/node"] = "state/node";
    auto* linux_config = config.mutable_linux();
    linux_config->set_cgroup_parent("/splitlet-test");
    if (host_network) {
      linux_config->mutable_security_context()->mutable_namespace_options()->set_network(
          runtime::v1::NODE);
    }
    return config;
  }

  runtime::v1::ContainerConfig ContainerConfig(const std::string& container,
                                               uint32_t container_attempt,
                                               const std::string& image = "busybox") const {
    runtime::v1::ContainerConfig config;
    config.mutable_metadata()->set_name(container);
    config.mutable_metadata()->set_attempt(container_attempt);
    config.mutable_image()->set_image(image);
    config.add_command("sleep");
    config.add_args("3600");
    config.set_log_path(container + "/" + std::to_string(container_attempt) + ".log");
    AddPodLabels(config.mutable_labels());
    (*config.mutable_labels())["io.kubernetes.container.name"] = container;
    auto& annotations = *config.mutable_annotations();
    annotations["io.kubernetes.container.hash"] = "8e45cbd0";
    annotations["io.kubernetes.container.restartCount"] = std::to_string(container_attempt);
    annotations["io.kubernetes.container.terminationMessagePath"] = "/dev/termination-log";
    annotations["io.kubernetes.container.terminationMessagePolicy"] = "File";
    annotations["io.kubernetes.pod.terminationGracePeriod"] = "30";
    return config;
  }

 private:
  template <class Map>
  void AddPodLabels(Map* labels) const {
    (*labels)["io.kubernetes.pod.name"] = name;
    (*labels)["io.kubernetes.pod.namespace"] = name_space;
    (*labels)["io.kubernetes.pod.uid"] = uid;
  }
};

}  // namespace splitlet::cri
