// Saves and restores FakeRuntime's state as CRI messages: one PodSandboxStatusResponse for each
// sandbox with its containers, then the images.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <string>
#include <utility>

#include "libs/cri/convert.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/fake_world.h"
#include "libs/cri/to_proto.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {
namespace {

using google::protobuf::util::ParseDelimitedFromZeroCopyStream;

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
  if (from.user().has_linux()) to.user = cri::FromProto(from.user().linux());
  if (from.resources().has_linux()) to.resources = cri::FromProto(from.resources().linux());
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

// Equal states give equal bytes, although maps have no order.
void Append(const google::protobuf::MessageLite& message, std::string& out) {
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  google::protobuf::util::SerializeDelimitedToCodedStream(message, &coded);
}

}  // namespace

std::string FakeRuntime::Save() const {
  const std::lock_guard lock(mutex_);
  world_->Tick();
  std::string out;
  for (const auto& [id, entry] : world_->sandboxes) {
    runtime::v1::PodSandboxStatusResponse pod;
    *pod.mutable_status() = ToProto(entry.record);
    (*pod.mutable_info())["log_directory"] = entry.log_directory;
    for (const auto& [container, inside] : world_->containers) {
      if (inside.record.sandbox_id == id) *pod.add_containers_statuses() = ToProto(inside.record);
    }
    Append(pod, out);
  }
  runtime::v1::PodSandboxStatusResponse end;
  (*end.mutable_info())["last_id"] = std::to_string(world_->last_id);
  Append(end, out);
  runtime::v1::ListImagesResponse images;
  for (const auto& [id, image] : world_->images) {
    *images.add_images() = ToProto(image);
  }
  Append(images, out);
  return out;
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
