// What FakeRuntime keeps over a restart, as CRI messages: one PodSandboxStatusResponse for each
// sandbox with its containers, then the images.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <sstream>
#include <utility>

#include "libs/cri/fake_runtime.h"
#include "libs/cri/fake_world.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {
namespace {

using google::protobuf::util::ParseDelimitedFromZeroCopyStream;
using google::protobuf::util::SerializeDelimitedToOstream;

template <class Map>
void Fill(const StringMap& from, Map* to) {
  for (const auto& [key, value] : from) (*to)[key] = value;
}

runtime::v1::ContainerStatus ToProto(const Container& from) {
  runtime::v1::ContainerStatus to;
  to.set_id(from.id.str());
  to.mutable_metadata()->set_name(from.name);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.set_state(static_cast<runtime::v1::ContainerState>(from.state));
  to.set_created_at(from.created_at_ns);
  to.set_started_at(from.started_at_ns);
  to.set_finished_at(from.finished_at_ns);
  to.set_exit_code(from.exit_code);
  to.set_reason(from.reason);
  to.set_message(from.message);
  to.mutable_image()->set_image(from.image);
  to.set_image_ref(from.image_ref);
  to.set_image_id(from.image_id);
  to.set_log_path(from.log_path);
  Fill(from.labels, to.mutable_labels());
  Fill(from.annotations, to.mutable_annotations());
  for (const Mount& mount : from.mounts) {
    auto* made = to.add_mounts();
    made->set_container_path(mount.container_path);
    made->set_host_path(mount.host_path);
    made->set_readonly(mount.read_only);
  }
  return to;
}

Container FromProto(const runtime::v1::ContainerStatus& from, const SandboxId& sandbox) {
  Container to;
  to.id = ContainerId(from.id());
  to.sandbox_id = sandbox;
  to.name = from.metadata().name();
  to.attempt = from.metadata().attempt();
  to.state = static_cast<ContainerState>(from.state());
  to.created_at_ns = from.created_at();
  to.started_at_ns = from.started_at();
  to.finished_at_ns = from.finished_at();
  to.exit_code = from.exit_code();
  to.reason = from.reason();
  to.message = from.message();
  to.image = from.image().image();
  to.image_ref = from.image_ref();
  to.image_id = from.image_id();
  to.log_path = from.log_path();
  to.labels = StringMap(from.labels().begin(), from.labels().end());
  to.annotations = StringMap(from.annotations().begin(), from.annotations().end());
  for (const auto& mount : from.mounts()) {
    to.mounts.push_back({mount.container_path(), mount.host_path(), mount.readonly()});
  }
  return to;
}

runtime::v1::PodSandboxStatus ToProto(const Sandbox& from) {
  runtime::v1::PodSandboxStatus to;
  to.set_id(from.id.str());
  to.mutable_metadata()->set_name(from.pod_name);
  to.mutable_metadata()->set_namespace_(from.pod_namespace);
  to.mutable_metadata()->set_uid(from.pod_uid);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.set_state(from.state == SandboxState::kReady ? runtime::v1::SANDBOX_READY
                                                  : runtime::v1::SANDBOX_NOTREADY);
  to.set_created_at(from.created_at_ns);
  to.set_runtime_handler(from.runtime_handler);
  Fill(from.labels, to.mutable_labels());
  Fill(from.annotations, to.mutable_annotations());
  if (!from.ips.empty()) to.mutable_network()->set_ip(from.ips.front());
  for (size_t i = 1; i < from.ips.size(); ++i)
    to.mutable_network()->add_additional_ips()->set_ip(from.ips[i]);
  if (from.host_network) {
    to.mutable_linux()->mutable_namespaces()->mutable_options()->set_network(runtime::v1::NODE);
  }
  return to;
}

Sandbox FromProto(const runtime::v1::PodSandboxStatus& from) {
  Sandbox to;
  to.id = SandboxId(from.id());
  to.pod_name = from.metadata().name();
  to.pod_namespace = from.metadata().namespace_();
  to.pod_uid = from.metadata().uid();
  to.attempt = from.metadata().attempt();
  to.state =
      from.state() == runtime::v1::SANDBOX_READY ? SandboxState::kReady : SandboxState::kNotReady;
  to.created_at_ns = from.created_at();
  to.runtime_handler = from.runtime_handler();
  to.labels = StringMap(from.labels().begin(), from.labels().end());
  to.annotations = StringMap(from.annotations().begin(), from.annotations().end());
  if (!from.network().ip().empty()) to.ips.push_back(from.network().ip());
  for (const auto& ip : from.network().additional_ips()) to.ips.push_back(ip.ip());
  to.host_network = from.linux().namespaces().options().network() == runtime::v1::NODE;
  return to;
}

}  // namespace

std::string FakeRuntime::Save() const {
  const std::lock_guard lock(mutex_);
  world_->Tick();
  std::ostringstream out;
  for (const auto& [id, entry] : world_->sandboxes) {
    runtime::v1::PodSandboxStatusResponse pod;
    *pod.mutable_status() = ToProto(entry.record);
    (*pod.mutable_info())["log_directory"] = entry.log_directory;
    for (const auto& [container, inside] : world_->containers) {
      if (inside.record.sandbox_id == id) *pod.add_containers_statuses() = ToProto(inside.record);
    }
    SerializeDelimitedToOstream(pod, &out);
  }
  runtime::v1::PodSandboxStatusResponse end;
  (*end.mutable_info())["last_id"] = std::to_string(world_->last_id);
  SerializeDelimitedToOstream(end, &out);
  runtime::v1::ListImagesResponse images;
  for (const auto& [id, image] : world_->images) {
    auto* made = images.add_images();
    made->set_id(image.id);
    for (const auto& tag : image.tags) made->add_repo_tags(tag);
    for (const auto& digest : image.digests) made->add_repo_digests(digest);
    made->set_size(image.size_bytes);
  }
  SerializeDelimitedToOstream(images, &out);
  return out.str();
}

Status FakeRuntime::Restore(const std::string& saved) {
  google::protobuf::io::ArrayInputStream in(saved.data(), static_cast<int>(saved.size()));
  const std::lock_guard lock(mutex_);
  while (true) {
    runtime::v1::PodSandboxStatusResponse pod;
    if (!ParseDelimitedFromZeroCopyStream(&pod, &in, nullptr))
      return DataLoss("the state is cut off");
    if (pod.info().contains("last_id")) {
      world_->last_id = std::stoull(pod.info().at("last_id"));
      break;
    }
    const Sandbox sandbox = FromProto(pod.status());
    world_->sandboxes[sandbox.id] = {sandbox, pod.info().at("log_directory")};
    world_->sandbox_names[World::NameOf(sandbox)] = sandbox.id;
    for (const auto& status : pod.containers_statuses()) {
      const Container container = FromProto(status, sandbox.id);
      world_->container_names[World::NameOf(sandbox.pod_uid, container)] = container.id;
      World::ContainerEntry entry{container, world_->BehaviourOf(sandbox.pod_uid, container.name)};
      if (container.state == ContainerState::kRunning && entry.behaviour.exit_after) {
        entry.exit_due = clock_.Now() + *entry.behaviour.exit_after;
        entry.due_code = entry.behaviour.exit_code;
      }
      world_->last_timestamp = std::max(world_->last_timestamp, container.created_at_ns);
      world_->containers[container.id] = std::move(entry);
    }
  }
  runtime::v1::ListImagesResponse images;
  if (!ParseDelimitedFromZeroCopyStream(&images, &in, nullptr))
    return DataLoss("the state is cut off");
  for (const auto& image : images.images()) {
    Image made;
    made.id = image.id();
    made.tags.assign(image.repo_tags().begin(), image.repo_tags().end());
    made.digests.assign(image.repo_digests().begin(), image.repo_digests().end());
    made.size_bytes = image.size();
    world_->images[made.id] = made;
  }
  return OkStatus();
}

}  // namespace splitlet::cri
