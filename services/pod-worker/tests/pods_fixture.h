#pragma once

/// Pods and runtime records in a few words, for tests.
/// Threads: values.
/// Errors:  none.

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/pod-worker/runtime_config/names.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

/// Pod default/web of UID `uid-web` from a file, as config-source would have filled it in.
struct TestPod {
  std::string name = "web", uid = "uid-web", policy = "Always", source = "file";
  std::vector<std::string> containers{"app"}, inits;
  std::vector<std::string> sidecars;  // those of `inits` that keep running
  int64_t grace = 30;

  kube::Pod Make() const {
    kube::Pod pod;
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_metadata()->set_uid(uid);
    (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = source;
    pod.mutable_spec()->set_restart_policy(policy);
    pod.mutable_spec()->set_termination_grace_period_seconds(grace);
    pod.mutable_spec()->set_dns_policy("Default");
    for (const auto& init : inits) {
      Fill(init, *pod.mutable_spec()->add_init_containers());
      for (const auto& sidecar : sidecars)
        if (sidecar == init)
          pod.mutable_spec()->mutable_init_containers()->rbegin()->set_restart_policy("Always");
    }
    for (const auto& container : containers) Fill(container, *pod.mutable_spec()->add_containers());
    return pod;
  }

 private:
  static void Fill(const std::string& name, kube::Container& container) {
    container.set_name(name);
    container.set_image("busybox:1.36");
    container.set_image_pull_policy("IfNotPresent");
    container.set_termination_message_path("/dev/termination-log");
    container.set_termination_message_policy("File");
  }
};

/// The volume at /<name> of the container.
inline void MountAt(kube::Container& container, const std::string& volume) {
  auto& mount = *container.add_volume_mounts();
  mount.set_name(volume);
  mount.set_mount_path("/" + volume);
}

using Record = v1::ContainerRecord;

struct TestRecord {
  std::string name = "app";
  Record::State state = Record::RUNNING;
  int exit_code = 0;
  int restarts = 0;
  std::string id;    // empty: "<name>-<restarts>"
  std::string hash;  // empty: the right one
  std::string sandbox = "sandbox-0";
};

/// Newest first, in one sandbox that is ready and has an address.
inline v1::ObservedPod Observed(const std::vector<TestRecord>& records, bool ready = true) {
  v1::ObservedPod seen;
  seen.set_uid("uid-web");
  auto& sandbox = *seen.add_sandboxes();
  sandbox.set_id("sandbox-0");
  sandbox.set_state(ready ? v1::SandboxRecord::READY : v1::SandboxRecord::NOT_READY);
  sandbox.add_ips("10.1.2.3");
  for (const auto& from : records) {
    kube::Container container;
    container.set_name(from.name);
    container.set_image("busybox:1.36");
    auto& record = *seen.add_containers();
    record.set_name(from.name);
    record.set_id(from.id.empty() ? from.name + "-" + std::to_string(from.restarts) : from.id);
    record.set_sandbox_id(from.sandbox);
    record.set_state(from.state);
    record.set_exit_code(from.exit_code);
    record.set_restart_count(from.restarts);
    record.set_hash(from.hash.empty() ? ContainerHash(container) : from.hash);
  }
  return seen;
}

}  // namespace splitlet::pod_worker
