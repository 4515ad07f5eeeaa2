#include "tests/fake_cri/server.h"

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <utility>

#include "containerd/events.pb.h"
#include "containerd/events_service.grpc.pb.h"
#include "libs/base/cancel.h"
#include "libs/cri/to_proto.h"
#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::fake_cri {
namespace {

namespace v1 = runtime::v1;
namespace ctrd = containerd::services::events::v1;
using cri::ContainerEvent;
using cri::FakeRuntime;
using grpc::ServerContext;

constexpr const char* kPodUidLabel = "io.kubernetes.pod.uid";

struct Backend {
  FakeRuntime& runtime;
  Server::Options options;
  RealClock clock;
  std::shared_ptr<CancelToken> stopping = std::make_shared<CancelToken>();

  Deadline DeadlineOf(const ServerContext& context) const {
    const gpr_timespec at = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC);
    const gpr_timespec left = gpr_time_sub(at, gpr_now(GPR_CLOCK_MONOTONIC));
    const Duration wait = std::chrono::seconds{std::min<int64_t>(left.tv_sec, 3600)} +
                          std::chrono::nanoseconds{left.tv_nsec};
    return {clock.Now() + wait, stopping};
  }
  void Changed() const {
    if (options.on_change) options.on_change();
  }
};

grpc::Status Answer(const Status& status) {
  if (status.code() != StatusCode::kAlreadyExists) return rpc::ToGrpc(status);
  return {grpc::StatusCode::UNKNOWN, "failed to reserve name: " + Message(status)};
}

template <class T, class F>
grpc::Status Answer(const StatusOr<T>& result, F fill) {
  if (result.ok()) fill(*result);
  return Answer(result.status());
}

std::string UidIn(const google::protobuf::Map<std::string, std::string>& labels) {
  const auto found = labels.find(kPodUidLabel);
  return found == labels.end() ? "" : found->second;
}

v1::PodSandbox AsItem(const cri::Sandbox& sandbox) {
  const v1::PodSandboxStatus status = cri::ToProto(sandbox);
  v1::PodSandbox item;
  item.set_id(status.id());
  *item.mutable_metadata() = status.metadata();
  item.set_state(status.state());
  item.set_created_at(status.created_at());
  *item.mutable_labels() = status.labels();
  *item.mutable_annotations() = status.annotations();
  item.set_runtime_handler(status.runtime_handler());
  return item;
}

v1::Container AsItem(const cri::Container& container) {
  const v1::ContainerStatus status = cri::ToProto(container);
  v1::Container item;
  item.set_id(status.id());
  item.set_pod_sandbox_id(container.sandbox_id.str());
  *item.mutable_metadata() = status.metadata();
  *item.mutable_image() = status.image();
  item.set_image_ref(status.image_ref());
  item.set_image_id(status.image_id());
  item.set_state(status.state());
  item.set_created_at(status.created_at());
  *item.mutable_labels() = status.labels();
  *item.mutable_annotations() = status.annotations();
  return item;
}

/// Sends events to `write` until it fails, the client leaves or the stream is ended.
grpc::Status Forward(Backend& backend, ServerContext& context,
                     const std::function<bool(const ContainerEvent&)>& write) {
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<ContainerEvent> events;
    std::optional<Status> end;
  };
  const auto inbox = std::make_shared<Inbox>();
  FakeRuntime::Subscriber subscriber;
  subscriber.on_event = [inbox](const ContainerEvent& event) {
    const std::lock_guard lock(inbox->mutex);
    inbox->events.push_back(event);
    inbox->changed.notify_all();
  };
  subscriber.on_end = [inbox](const Status& status) {
    const std::lock_guard lock(inbox->mutex);
    inbox->end = status;
    inbox->changed.notify_all();
  };
  const auto id = backend.runtime.Subscribe(subscriber);
  if (!id.ok()) return Answer(id.status());
  Status end = Cancelled("the client went away");
  while (!context.IsCancelled() && !backend.stopping->cancelled()) {
    std::unique_lock lock(inbox->mutex);
    inbox->changed.wait_for(lock, 50ms, [&] { return !inbox->events.empty() || inbox->end; });
    const std::deque<ContainerEvent> events = std::exchange(inbox->events, {});
    if (inbox->end) end = *inbox->end;
    const bool ended = inbox->end.has_value();
    lock.unlock();
    const bool written = std::all_of(events.begin(), events.end(), write);
    if (ended || !written) break;
  }
  backend.runtime.Unsubscribe(*id);
  return Answer(end);
}

/// CRI's stream does not report the end of a container's process before its clean-up.
v1::ContainerEventType ToEventType(ContainerEvent::Kind kind) {
  switch (kind) {
    case ContainerEvent::Kind::kCreated: return v1::CONTAINER_CREATED_EVENT;
    case ContainerEvent::Kind::kStarted: return v1::CONTAINER_STARTED_EVENT;
    case ContainerEvent::Kind::kStopping:
    case ContainerEvent::Kind::kStopped: return v1::CONTAINER_STOPPED_EVENT;
    case ContainerEvent::Kind::kDeleted: return v1::CONTAINER_DELETED_EVENT;
  }
  UNREACHABLE();
}

class RuntimeServer final : public v1::RuntimeService::Service {
 public:
  explicit RuntimeServer(Backend& backend) : backend_(backend), runtime_(backend.runtime) {}

  grpc::Status Version(ServerContext* context, const v1::VersionRequest*,
                       v1::VersionResponse* response) override {
    return Answer(runtime_.Version(backend_.DeadlineOf(*context)),
                  [&](const cri::RuntimeInfo& info) {
                    response->set_version("0.1.0");
                    response->set_runtime_name(info.name);
                    response->set_runtime_version(info.version);
                    response->set_runtime_api_version(info.api_version);
                  });
  }

  grpc::Status Status(ServerContext* context, const v1::StatusRequest* request,
                      v1::StatusResponse* response) override {
    if (request->verbose()) {
      const auto image = runtime_.SandboxImage(backend_.DeadlineOf(*context));
      if (!image.ok()) return rpc::ToGrpc(image.status());
      (*response->mutable_info())["config"] = fmt::format("{{\"sandboxImage\": \"{}\"}}", *image);
    }
    return Answer(runtime_.RuntimeStatus(backend_.DeadlineOf(*context)),
                  [&](const cri::RuntimeReport& report) {
                    for (const auto& condition : report.conditions) {
                      auto* made = response->mutable_status()->add_conditions();
                      made->set_type(condition.type);
                      made->set_status(condition.status);
                      made->set_reason(condition.reason);
                      made->set_message(condition.message);
                    }
                    for (const auto& handler : report.handlers) {
                      auto* made = response->add_runtime_handlers();
                      made->set_name(handler.name);
                      made->mutable_features()->set_recursive_read_only_mounts(
                          handler.recursive_read_only_mounts);
                      made->mutable_features()->set_user_namespaces(handler.user_namespaces);
                    }
                    auto& features = *response->mutable_features();
                    features.set_supplemental_groups_policy(report.supplemental_groups_policy);
                    features.set_user_namespaces_host_network(report.user_namespaces_host_network);
                  });
  }

  grpc::Status ListPodSandbox(ServerContext* context, const v1::ListPodSandboxRequest* request,
                              v1::ListPodSandboxResponse* response) override {
    const auto& filter = request->filter();
    const auto listed =
        runtime_.ListPodSandbox(UidIn(filter.label_selector()), backend_.DeadlineOf(*context));
    return Answer(listed, [&](const auto& sandboxes) {
      for (const auto& sandbox : sandboxes) {
        const v1::PodSandbox item = AsItem(sandbox);
        if (!filter.id().empty() && filter.id() != item.id()) continue;
        if (filter.has_state() && filter.state().state() != item.state()) continue;
        *response->add_items() = item;
      }
    });
  }

  grpc::Status PodSandboxStatus(ServerContext* context, const v1::PodSandboxStatusRequest* request,
                                v1::PodSandboxStatusResponse* response) override {
    const cri::SandboxId id(request->pod_sandbox_id());
    return Answer(
        runtime_.PodSandboxStatus(id, backend_.DeadlineOf(*context)),
        [&](const cri::Sandbox& sandbox) { *response->mutable_status() = cri::ToProto(sandbox); });
  }

  grpc::Status ListContainers(ServerContext* context, const v1::ListContainersRequest* request,
                              v1::ListContainersResponse* response) override {
    const auto& filter = request->filter();
    const cri::ContainerFilter asked{UidIn(filter.label_selector()),
                                     cri::SandboxId(filter.pod_sandbox_id())};
    return Answer(runtime_.ListContainers(asked, backend_.DeadlineOf(*context)),
                  [&](const auto& containers) {
                    for (const auto& container : containers) {
                      const v1::Container item = AsItem(container);
                      if (!filter.id().empty() && filter.id() != item.id()) continue;
                      if (filter.has_state() && filter.state().state() != item.state()) continue;
                      *response->add_containers() = item;
                    }
                  });
  }

  grpc::Status ContainerStatus(ServerContext* context, const v1::ContainerStatusRequest* request,
                               v1::ContainerStatusResponse* response) override {
    const cri::ContainerId id(request->container_id());
    return Answer(runtime_.ContainerStatus(id, backend_.DeadlineOf(*context)),
                  [&](const cri::Container& container) {
                    *response->mutable_status() = cri::ToProto(container);
                  });
  }

  grpc::Status RunPodSandbox(ServerContext* context, const v1::RunPodSandboxRequest* request,
                             v1::RunPodSandboxResponse* response) override {
    const auto made = runtime_.RunPodSandbox(request->config(), request->runtime_handler(),
                                             backend_.DeadlineOf(*context));
    backend_.Changed();
    return Answer(made, [&](const cri::SandboxId& id) { response->set_pod_sandbox_id(id.str()); });
  }

  grpc::Status StopPodSandbox(ServerContext* context, const v1::StopPodSandboxRequest* request,
                              v1::StopPodSandboxResponse*) override {
    const cri::SandboxId id(request->pod_sandbox_id());
    return Changed(runtime_.StopPodSandbox(id, backend_.DeadlineOf(*context)));
  }

  grpc::Status RemovePodSandbox(ServerContext* context, const v1::RemovePodSandboxRequest* request,
                                v1::RemovePodSandboxResponse*) override {
    const cri::SandboxId id(request->pod_sandbox_id());
    return Changed(runtime_.RemovePodSandbox(id, backend_.DeadlineOf(*context)));
  }

  grpc::Status CreateContainer(ServerContext* context, const v1::CreateContainerRequest* request,
                               v1::CreateContainerResponse* response) override {
    const auto made =
        runtime_.CreateContainer(cri::SandboxId(request->pod_sandbox_id()), request->config(),
                                 request->sandbox_config(), backend_.DeadlineOf(*context));
    backend_.Changed();
    return Answer(made, [&](const cri::ContainerId& id) { response->set_container_id(id.str()); });
  }

  grpc::Status StartContainer(ServerContext* context, const v1::StartContainerRequest* request,
                              v1::StartContainerResponse*) override {
    const cri::ContainerId id(request->container_id());
    return Changed(runtime_.StartContainer(id, backend_.DeadlineOf(*context)));
  }

  grpc::Status StopContainer(ServerContext* context, const v1::StopContainerRequest* request,
                             v1::StopContainerResponse*) override {
    const cri::ContainerId id(request->container_id());
    return Changed(runtime_.StopContainer(id, request->timeout(), backend_.DeadlineOf(*context)));
  }

  grpc::Status RemoveContainer(ServerContext* context, const v1::RemoveContainerRequest* request,
                               v1::RemoveContainerResponse*) override {
    const cri::ContainerId id(request->container_id());
    return Changed(runtime_.RemoveContainer(id, backend_.DeadlineOf(*context)));
  }

  grpc::Status ReopenContainerLog(ServerContext* context,
                                  const v1::ReopenContainerLogRequest* request,
                                  v1::ReopenContainerLogResponse*) override {
    const cri::ContainerId id(request->container_id());
    return Changed(runtime_.ReopenContainerLog(id, backend_.DeadlineOf(*context)));
  }

  grpc::Status ExecSync(ServerContext* context, const v1::ExecSyncRequest* request,
                        v1::ExecSyncResponse* response) override {
    const cri::ExecCommand command{.words = {request->cmd().begin(), request->cmd().end()},
                                   .timeout = std::chrono::seconds{request->timeout()},
                                   .keep = {.bytes = SIZE_MAX}};
    const auto result = runtime_.ExecSync(cri::ContainerId(request->container_id()), command,
                                          backend_.DeadlineOf(*context));
    return Answer(result, [&](const cri::ExecResult& r) {
      response->set_exit_code(r.exit_code);
      response->set_stdout(r.out);
      response->set_stderr(r.err);
    });
  }

  grpc::Status RuntimeConfig(ServerContext*, const v1::RuntimeConfigRequest*,
                             v1::RuntimeConfigResponse* response) override {
    response->mutable_linux()->set_cgroup_driver(v1::CGROUPFS);
    return grpc::Status::OK;
  }

  /// Writes a file that is not a real archive.
  grpc::Status CheckpointContainer(ServerContext* context,
                                   const v1::CheckpointContainerRequest* request,
                                   v1::CheckpointContainerResponse*) override {
    if (backend_.options.checkpoints == nullptr || !*backend_.options.checkpoints)
      return {grpc::StatusCode::UNIMPLEMENTED,
              "unknown method CheckpointContainer for service runtime.v1.RuntimeService"};
    const cri::ContainerId id(request->container_id());
    const auto container = runtime_.ContainerStatus(id, backend_.DeadlineOf(*context));
    if (!container.ok()) return Answer(container.status());
    if (container->state != cri::ContainerState::kRunning)
      return Answer(FailedPrecondition("container {} does not run", id));
    std::ofstream file(request->location());
    file << "checkpoint of " << id.str() << "\n" << std::flush;
    return file.good() ? grpc::Status::OK : Answer(NotFound("{}", request->location()));
  }

  grpc::Status UpdateRuntimeConfig(ServerContext*, const v1::UpdateRuntimeConfigRequest* request,
                                   v1::UpdateRuntimeConfigResponse*) override {
    if (!backend_.options.on_pod_cidr)
      return {grpc::StatusCode::UNIMPLEMENTED,
              "unknown method UpdateRuntimeConfig for service runtime.v1.RuntimeService"};
    return Answer(
        backend_.options.on_pod_cidr(request->runtime_config().network_config().pod_cidr()));
  }

  grpc::Status Exec(ServerContext* context, const v1::ExecRequest* request,
                    v1::ExecResponse* response) override {
    return Stream(*context, "exec", request->container_id(), *response);
  }

  grpc::Status Attach(ServerContext* context, const v1::AttachRequest* request,
                      v1::AttachResponse* response) override {
    return Stream(*context, "attach", request->container_id(), *response);
  }

  grpc::Status ListContainerStats(ServerContext* context, const v1::ListContainerStatsRequest*,
                                  v1::ListContainerStatsResponse* response) override {
    return Answer(runtime_.ListContainerStats(backend_.DeadlineOf(*context)), [&](const auto& all) {
      for (const auto& stats : all) {
        auto* made = response->add_stats();
        made->mutable_attributes()->set_id(stats.id.str());
        made->mutable_cpu()->mutable_usage_core_nano_seconds()->set_value(stats.cpu_usage_ns);
        made->mutable_memory()->mutable_working_set_bytes()->set_value(
            stats.memory_working_set_bytes);
        made->mutable_writable_layer()->mutable_used_bytes()->set_value(stats.writable_layer_bytes);
        if (stats.writable_layer_inodes)
          made->mutable_writable_layer()->mutable_inodes_used()->set_value(
              *stats.writable_layer_inodes);
      }
    });
  }

  grpc::Status GetContainerEvents(ServerContext* context, const v1::GetEventsRequest*,
                                  grpc::ServerWriter<v1::ContainerEventResponse>* writer) override {
    if (backend_.options.events == EventMode::kCriOff) return grpc::Status::OK;
    if (backend_.options.events != EventMode::kCri)
      return {grpc::StatusCode::UNIMPLEMENTED, "no container events"};
    return Forward(backend_, *context, [&](const ContainerEvent& event) {
      v1::ContainerEventResponse message;
      message.set_container_id(event.container_id);
      message.set_container_event_type(ToEventType(event.kind));
      message.set_created_at(ToNanos(backend_.clock.WallNow()));
      if (const auto sandbox = runtime_.NewestSandbox(event.pod_uid))
        *message.mutable_pod_sandbox_status() = cri::ToProto(*sandbox);
      return writer->Write(message);
    });
  }

 private:
  grpc::Status Changed(const splitlet::Status& status) {
    backend_.Changed();
    return Answer(status);
  }

  /// Each request gets a URL of its own, and each kind the same answer.
  template <class Response>
  grpc::Status Stream(const ServerContext& context, const char* kind, const std::string& container,
                      Response& response) {
    const std::string url =
        backend_.options.streaming_url ? backend_.options.streaming_url() : std::string();
    if (url.empty()) return {grpc::StatusCode::UNIMPLEMENTED, "no streaming server"};
    return Answer(
        runtime_.ContainerStatus(cri::ContainerId(container), backend_.DeadlineOf(context)),
        [&](const auto&) { response.set_url(fmt::format("{}/{}/{}", url, kind, ++streams_)); });
  }

  Backend& backend_;
  FakeRuntime& runtime_;
  std::atomic<int> streams_{0};
};

class ImageServer final : public v1::ImageService::Service {
 public:
  explicit ImageServer(Backend& backend) : backend_(backend), runtime_(backend.runtime) {}

  grpc::Status ListImages(ServerContext* context, const v1::ListImagesRequest*,
                          v1::ListImagesResponse* response) override {
    return Answer(runtime_.ListImages(backend_.DeadlineOf(*context)), [&](const auto& images) {
      for (const auto& image : images) *response->add_images() = cri::ToProto(image);
    });
  }

  grpc::Status ImageStatus(ServerContext* context, const v1::ImageStatusRequest* request,
                           v1::ImageStatusResponse* response) override {
    const auto& asked = request->image();
    const auto found = runtime_.ImageStatus(
        {asked.image(), {asked.annotations().begin(), asked.annotations().end()}},
        backend_.DeadlineOf(*context));
    return Answer(found, [&](const std::optional<cri::Image>& image) {
      if (image) *response->mutable_image() = cri::ToProto(*image);
    });
  }

  grpc::Status PullImage(ServerContext* context, const v1::PullImageRequest* request,
                         v1::PullImageResponse* response) override {
    const v1::AuthConfig* auth = request->has_auth() ? &request->auth() : nullptr;
    const auto pulled = runtime_.PullImage(
        request->image().image(), auth, request->sandbox_config(), backend_.DeadlineOf(*context));
    backend_.Changed();
    return Answer(pulled, [&](const std::string& ref) { response->set_image_ref(ref); });
  }

  grpc::Status RemoveImage(ServerContext* context, const v1::RemoveImageRequest* request,
                           v1::RemoveImageResponse*) override {
    const Status removed =
        runtime_.RemoveImage(request->image().image(), backend_.DeadlineOf(*context));
    backend_.Changed();
    return Answer(removed);
  }

  grpc::Status ImageFsInfo(ServerContext* context, const v1::ImageFsInfoRequest*,
                           v1::ImageFsInfoResponse* response) override {
    return Answer(runtime_.ImageFsInfo(backend_.DeadlineOf(*context)), [&](const auto& report) {
      const auto fill = [](const cri::FsUsage& usage, v1::FilesystemUsage* made) {
        made->mutable_fs_id()->set_mountpoint(usage.mountpoint);
        made->mutable_used_bytes()->set_value(usage.used_bytes);
        made->mutable_inodes_used()->set_value(usage.inodes_used);
      };
      for (const auto& usage : report.images) fill(usage, response->add_image_filesystems());
      for (const auto& usage : report.containers)
        fill(usage, response->add_container_filesystems());
    });
  }

 private:
  Backend& backend_;
  FakeRuntime& runtime_;
};

/// containerd's own events: ids only.
class EventsServer final : public ctrd::Events::Service {
 public:
  explicit EventsServer(Backend& backend) : backend_(backend) {}

  grpc::Status Subscribe(ServerContext* context, const ctrd::SubscribeRequest*,
                         grpc::ServerWriter<ctrd::Envelope>* writer) override {
    if (backend_.options.events != EventMode::kContainerd)
      return {grpc::StatusCode::UNIMPLEMENTED, "no events"};
    return Forward(backend_, *context,
                   [&](const ContainerEvent& event) { return writer->Write(ToEnvelope(event)); });
  }

 private:
  template <class Message>
  static void Pack(const char* topic, const Message& message, ctrd::Envelope& envelope) {
    envelope.set_topic(topic);
    envelope.mutable_event()->set_type_url(Message::descriptor()->full_name());
    envelope.mutable_event()->set_value(message.SerializeAsString());
  }

  static ctrd::Envelope ToEnvelope(const ContainerEvent& event) {
    ctrd::Envelope envelope;
    envelope.set_namespace_("k8s.io");
    switch (event.kind) {
      case ContainerEvent::Kind::kCreated: {
        containerd::events::ContainerCreate message;
        message.set_id(event.container_id);
        Pack("/containers/create", message, envelope);
        break;
      }
      case ContainerEvent::Kind::kStarted: {
        containerd::events::TaskStart message;
        message.set_container_id(event.container_id);
        Pack("/tasks/start", message, envelope);
        break;
      }
      case ContainerEvent::Kind::kStopping: {
        containerd::events::TaskExit message;
        message.set_container_id(event.container_id);
        message.set_id(event.container_id);
        Pack("/tasks/exit", message, envelope);
        break;
      }
      case ContainerEvent::Kind::kStopped: {
        containerd::events::TaskDelete message;
        message.set_container_id(event.container_id);
        Pack("/tasks/delete", message, envelope);
        break;
      }
      case ContainerEvent::Kind::kDeleted: {
        containerd::events::ContainerDelete message;
        message.set_id(event.container_id);
        Pack("/containers/delete", message, envelope);
        break;
      }
    }
    return envelope;
  }

  Backend& backend_;
};

class RealServer final : public Server {
 public:
  RealServer(FakeRuntime& runtime, Options options)
      : backend_{runtime, std::move(options), {}},
        runtime_(backend_),
        images_(backend_),
        events_(backend_) {}
  ~RealServer() override {
    backend_.stopping->Cancel();
    if (server_ != nullptr)
      server_->Shutdown(
          gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(100, GPR_TIMESPAN)));
  }
  /// Not rpc::StartServer, which checks the caller: a runtime's socket is protected by its mode
  /// alone.
  Status Listen() {
    grpc::ResourceQuota quota("fake-cri");
    quota.SetMaxThreads(1024);  // each hanging call occupies a thread
    grpc::ServerBuilder builder;
    builder.SetResourceQuota(quota);
    builder.AddListeningPort("unix:" + backend_.options.socket, grpc::InsecureServerCredentials());
    for (grpc::Service* service :
         std::initializer_list<grpc::Service*>{&runtime_, &images_, &events_})
      builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Internal("cannot listen at {}", backend_.options.socket);
    return OkStatus();
  }

 private:
  Backend backend_;
  RuntimeServer runtime_;
  ImageServer images_;
  EventsServer events_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

StatusOr<std::unique_ptr<Server>> Server::Start(FakeRuntime& runtime, Options options) {
  auto server = std::make_unique<RealServer>(runtime, std::move(options));
  RETURN_IF_ERROR(server->Listen(), "fake CRI");
  return server;
}

}  // namespace splitlet::fake_cri
