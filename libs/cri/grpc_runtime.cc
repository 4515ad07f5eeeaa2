#include "libs/cri/grpc_runtime.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>

#include "libs/base/cancel.h"
#include "libs/base/fail_point.h"
#include "libs/cri/convert.h"
#include "libs/cri/cri_metrics.h"
#include "libs/cri/exec_calls.h"
#include "libs/cri/trace_scope.h"
#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::cri {
namespace {

namespace v1 = runtime::v1;

constexpr const char* kCriVersion = "0.1.0";
constexpr const char* kPodUidLabel = "io.kubernetes.pod.uid";

v1::StopContainerRequest StopRequest(const ContainerId& id, int64_t grace_seconds) {
  v1::StopContainerRequest request;
  request.set_container_id(id.str());
  request.set_timeout(grace_seconds);
  return request;
}

Status StopAnswer(const Status& status) {
  FAIL_POINT("cri.stop-container.after");
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

v1::PullImageRequest PullRequest(const std::string& image, const v1::AuthConfig* auth,
                                 const v1::PodSandboxConfig& sandbox_config) {
  v1::PullImageRequest request;
  request.mutable_image()->set_image(image);
  *request.mutable_image()->mutable_annotations() = sandbox_config.annotations();
  if (auth != nullptr) *request.mutable_auth() = *auth;
  *request.mutable_sandbox_config() = sandbox_config;
  return request;
}

StatusOr<std::string> PullAnswer(const std::string& image, const Status& status,
                                 const v1::PullImageResponse& response) {
  FAIL_POINT("cri.pull-image.after");
  if (!status.ok()) return status;
  if (response.image_ref().empty())
    return Internal("the runtime pulled {} but reported no reference", image);
  return response.image_ref();
}

StatusOr<ExecResult> ExecAnswer(StatusOr<ExecResult> result) {
  FAIL_POINT("cri.exec-sync.after");
  return result;
}

}  // namespace

struct GrpcRuntime::Impl {
  Impl(const std::shared_ptr<grpc::Channel>& channel, const Clock& c,
       prometheus::Registry& registry, CallLimits l)
      : clock(c),
        limits(l),
        metrics(registry),
        runtime(v1::RuntimeService::NewStub(channel)),
        images(v1::ImageService::NewStub(channel)),
        execs({channel, clock, metrics, given_up}) {}

  /// `call` receives the context. The label is an operation type of the closed set.
  template <class F>
  Status Invoke(const char* operation, const Deadline& deadline, Duration limit, F call) {
    const Clock::Time begin = clock.Now();
    const Deadline bounded{std::min(deadline.at, begin + limit), deadline.cancel};
    rpc::ClientCall client(clock, bounded, TraceScope::Current());
    const int cancel_id = given_up.Add([context = &client.context()] { context->TryCancel(); });
    const Status status = rpc::FromGrpc(call(&client.context()));
    given_up.Remove(cancel_id);
    metrics.Note(operation, clock.Now() - begin, !status.ok());
    return status;
  }

  template <class F>
  Status Invoke(const char* operation, const Deadline& deadline, F call) {
    return Invoke(operation, deadline, limits.request, call);
  }

  struct LongKind {
    const char* operation;
    const Deadline& deadline;
    Duration limit;
  };
  /// A call without a thread: its state lives until the answer, then deletes itself.
  template <class Request, class Response>
  struct LongCall {
    using Done = std::function<void(const Status&, const Response&)>;
    LongCall(Impl& i, const LongKind& kind, Request r, Done d)
        : impl(i),
          operation(kind.operation),
          request(std::move(r)),
          done(std::move(d)),
          begin(i.clock.Now()),
          client(i.clock, {std::min(kind.deadline.at, begin + kind.limit), kind.deadline.cancel},
                 TraceScope::Current()) {}

    void End(const grpc::Status& answer) {
      impl.given_up.Remove(cancel_id);
      const Status status = rpc::FromGrpc(answer);
      impl.metrics.Note(operation, impl.clock.Now() - begin, !status.ok());
      done(status, response);
      Impl& owner = impl;
      delete this;
      const std::lock_guard lock(owner.mutex);
      if (--owner.long_calls == 0) owner.none_left.notify_all();
    }

    Impl& impl;
    const char* const operation;
    const Request request;
    Response response;
    const Done done;
    const Clock::Time begin;
    rpc::ClientCall client;
    int cancel_id = 0;  // id in `given_up`
  };
  /// The callback for gRPC. It fits into a std::function without an allocation, so that gRPC frees
  /// nothing of it.
  template <class Call>
  struct Answered {
    void operator()(const grpc::Status& answer) const {
      // Orders this thread after the thread that started the call, for ThreadSanitizer.
      { const std::lock_guard begun(impl->mutex); }
      call->End(answer);
    }
    Impl* impl;
    Call* call;
  };

  /// `start` receives context, request, response and the callback for the end.
  template <class Response, class Request, class Start>
  void Begin(const LongKind& kind, Request request, Start start,
             typename LongCall<Request, Response>::Done done) {
    using Call = LongCall<Request, Response>;
    Call* call = std::make_unique<Call>(*this, kind, std::move(request), std::move(done)).release();
    grpc::ClientContext* context = &call->client.context();
    call->cancel_id = given_up.Add([context] { context->TryCancel(); });
    // Held while gRPC creates the call's state, which another thread deletes. Locked twice if the
    // call ends on this thread.
    const std::lock_guard lock(mutex);
    ++long_calls;
    start(context, &call->request, &call->response, Answered<Call>{this, call});
  }

  const Clock& clock;
  CallLimits limits;
  CancelToken given_up;
  std::recursive_mutex mutex;
  std::condition_variable_any none_left;
  size_t long_calls = 0;  // number of long calls without an answer
  CriMetrics metrics;
  std::unique_ptr<v1::RuntimeService::Stub> runtime;
  std::unique_ptr<v1::ImageService::Stub> images;
  ExecCalls execs;
};

GrpcRuntime::GrpcRuntime(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock,
                         prometheus::Registry& registry, CallLimits limits)
    : impl_(std::make_unique<Impl>(channel, clock, registry, limits)) {}
GrpcRuntime::~GrpcRuntime() { EndLongCalls(); }
void GrpcRuntime::GiveUp() { impl_->given_up.Cancel(); }
void GrpcRuntime::EndLongCalls() {
  GiveUp();
  std::unique_lock lock(impl_->mutex);
  impl_->none_left.wait(lock, [this] { return impl_->long_calls == 0; });
  lock.unlock();
  impl_->execs.WaitEnded();
}

// Reader.

StatusOr<RuntimeInfo> GrpcRuntime::Version(Deadline deadline) {
  FAIL_POINT("cri.version.before");
  v1::VersionRequest request;
  v1::VersionResponse response;
  request.set_version(kCriVersion);
  const Status status = impl_->Invoke("version", deadline, [&](grpc::ClientContext* context) {
    return impl_->runtime->Version(context, request, &response);
  });
  FAIL_POINT("cri.version.after");
  if (!status.ok()) return status;
  if (response.version() != kCriVersion) {
    return FailedPrecondition("the runtime speaks CRI version {}, not {}", response.version(),
                              kCriVersion);
  }
  return RuntimeInfo{response.runtime_name(), response.runtime_version(),
                     response.runtime_api_version()};
}

StatusOr<RuntimeReport> GrpcRuntime::RuntimeStatus(Deadline deadline) {
  FAIL_POINT("cri.status.before");
  v1::StatusResponse response;
  const Status status = impl_->Invoke("status", deadline, [&](grpc::ClientContext* context) {
    return impl_->runtime->Status(context, v1::StatusRequest(), &response);
  });
  FAIL_POINT("cri.status.after");
  if (!status.ok()) return status;
  if (!response.has_status()) return Internal("the runtime answered without a status");
  RuntimeReport report;
  for (const auto& c : response.status().conditions()) {
    report.conditions.push_back({c.type(), c.status(), c.reason(), c.message()});
  }
  for (const auto& handler : response.runtime_handlers()) {
    report.handlers.push_back({handler.name(), handler.features().recursive_read_only_mounts(),
                               handler.features().user_namespaces()});
  }
  report.supplemental_groups_policy = response.features().supplemental_groups_policy();
  report.user_namespaces_host_network = response.features().user_namespaces_host_network();
  return report;
}

StatusOr<std::vector<Sandbox>> GrpcRuntime::ListPodSandbox(const std::string& pod_uid,
                                                           Deadline deadline) {
  FAIL_POINT("cri.list-pod-sandbox.before");
  v1::ListPodSandboxRequest request;
  v1::ListPodSandboxResponse response;
  if (!pod_uid.empty())
    (*request.mutable_filter()->mutable_label_selector())[kPodUidLabel] = pod_uid;
  const Status status =
      impl_->Invoke("list_podsandbox", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->ListPodSandbox(context, request, &response);
      });
  FAIL_POINT("cri.list-pod-sandbox.after");
  if (!status.ok()) return status;
  return FromProto(response);
}

StatusOr<Sandbox> GrpcRuntime::PodSandboxStatus(const SandboxId& id, Deadline deadline) {
  FAIL_POINT("cri.pod-sandbox-status.before");
  v1::PodSandboxStatusRequest request;
  v1::PodSandboxStatusResponse response;
  request.set_pod_sandbox_id(id.str());
  const Status status =
      impl_->Invoke("podsandbox_status", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->PodSandboxStatus(context, request, &response);
      });
  FAIL_POINT("cri.pod-sandbox-status.after");
  if (!status.ok()) return status;
  return FromProto(response);
}

StatusOr<std::vector<Container>> GrpcRuntime::ListContainers(const ContainerFilter& filter,
                                                             Deadline deadline) {
  FAIL_POINT("cri.list-containers.before");
  v1::ListContainersRequest request;
  v1::ListContainersResponse response;
  if (!filter.pod_uid.empty())
    (*request.mutable_filter()->mutable_label_selector())[kPodUidLabel] = filter.pod_uid;
  if (!filter.sandbox_id.empty())
    request.mutable_filter()->set_pod_sandbox_id(filter.sandbox_id.str());
  const Status status =
      impl_->Invoke("list_containers", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->ListContainers(context, request, &response);
      });
  FAIL_POINT("cri.list-containers.after");
  if (!status.ok()) return status;
  return FromProto(response);
}

StatusOr<Container> GrpcRuntime::ContainerStatus(const ContainerId& id, Deadline deadline) {
  FAIL_POINT("cri.container-status.before");
  v1::ContainerStatusRequest request;
  v1::ContainerStatusResponse response;
  request.set_container_id(id.str());
  const Status status =
      impl_->Invoke("container_status", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->ContainerStatus(context, request, &response);
      });
  FAIL_POINT("cri.container-status.after");
  if (!status.ok()) return status;
  return FromProto(response);
}

// Runner.

StatusOr<SandboxId> GrpcRuntime::RunPodSandbox(const v1::PodSandboxConfig& config,
                                               const std::string& handler, Deadline deadline) {
  FAIL_POINT("cri.run-pod-sandbox.before");
  v1::RunPodSandboxRequest request;
  v1::RunPodSandboxResponse response;
  *request.mutable_config() = config;
  request.set_runtime_handler(handler);
  const Duration limit = impl_->limits.RunPodSandbox();
  const Status status =
      impl_->Invoke("run_podsandbox", deadline, limit, [&](grpc::ClientContext* context) {
        return impl_->runtime->RunPodSandbox(context, request, &response);
      });
  FAIL_POINT("cri.run-pod-sandbox.after");
  if (status.ok()) return SandboxId(response.pod_sandbox_id());
  if (status.code() != StatusCode::kUnknown) return status;
  // Each name can be created once, so an existing one is the reason of the refusal.
  const auto listed = ListPodSandbox(config.metadata().uid(), deadline);
  if (!listed.ok()) return status;
  for (const Sandbox& other : *listed) {
    if (other.pod_name == config.metadata().name() &&
        other.pod_namespace == config.metadata().namespace_() &&
        other.attempt == config.metadata().attempt()) {
      return AlreadyExists("sandbox {} has this name: {}", other.id, Message(status));
    }
  }
  return status;
}

Status GrpcRuntime::StopPodSandbox(const SandboxId& id, Deadline deadline) {
  FAIL_POINT("cri.stop-pod-sandbox.before");
  v1::StopPodSandboxRequest request;
  v1::StopPodSandboxResponse response;
  request.set_pod_sandbox_id(id.str());
  const Status status =
      impl_->Invoke("stop_podsandbox", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->StopPodSandbox(context, request, &response);
      });
  FAIL_POINT("cri.stop-pod-sandbox.after");
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

StatusOr<ContainerId> GrpcRuntime::CreateContainer(const SandboxId& sandbox,
                                                   const v1::ContainerConfig& config,
                                                   const v1::PodSandboxConfig& sandbox_config,
                                                   Deadline deadline) {
  FAIL_POINT("cri.create-container.before");
  v1::CreateContainerRequest request;
  v1::CreateContainerResponse response;
  request.set_pod_sandbox_id(sandbox.str());
  *request.mutable_config() = config;
  *request.mutable_sandbox_config() = sandbox_config;
  const Status status =
      impl_->Invoke("create_container", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->CreateContainer(context, request, &response);
      });
  FAIL_POINT("cri.create-container.after");
  if (status.ok()) return ContainerId(response.container_id());
  if (status.code() != StatusCode::kUnknown) return status;
  const auto listed = ListContainers({.pod_uid = sandbox_config.metadata().uid()}, deadline);
  if (!listed.ok()) return status;
  for (const Container& other : *listed) {
    if (other.name == config.metadata().name() && other.attempt == config.metadata().attempt()) {
      return AlreadyExists("container {} has this name: {}", other.id, Message(status));
    }
  }
  return status;
}

Status GrpcRuntime::StartContainer(const ContainerId& id, Deadline deadline) {
  FAIL_POINT("cri.start-container.before");
  v1::StartContainerRequest request;
  v1::StartContainerResponse response;
  request.set_container_id(id.str());
  const Status status =
      impl_->Invoke("start_container", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->StartContainer(context, request, &response);
      });
  FAIL_POINT("cri.start-container.after");
  return status;
}

Status GrpcRuntime::StopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline) {
  FAIL_POINT("cri.stop-container.before");
  v1::StopContainerResponse response;
  const auto request = StopRequest(id, grace_seconds);
  const Duration limit = impl_->limits.StopContainer(grace_seconds);
  const Status status =
      impl_->Invoke("stop_container", deadline, limit, [&](grpc::ClientContext* context) {
        return impl_->runtime->StopContainer(context, request, &response);
      });
  return StopAnswer(status);
}

void GrpcRuntime::BeginStopContainer(const ContainerId& id, int64_t grace_seconds,
                                     Deadline deadline, Stopped done) {
  const Status may = [] {
    FAIL_POINT("cri.stop-container.before");
    return OkStatus();
  }();
  if (!may.ok()) return done(may);
  impl_->Begin<v1::StopContainerResponse>(
      {"stop_container", deadline, impl_->limits.StopContainer(grace_seconds)},
      StopRequest(id, grace_seconds),
      [this](auto* context, auto* request, auto* response, auto end) {
        impl_->runtime->async()->StopContainer(context, request, response, end);
      },
      [done = std::move(done)](const Status& status, const v1::StopContainerResponse&) {
        done(StopAnswer(status));
      });
}

// Exec.

StatusOr<ExecResult> GrpcRuntime::ExecSync(const ContainerId& id, const ExecCommand& command,
                                           Deadline deadline) {
  const auto ended = std::make_shared<std::promise<StatusOr<ExecResult>>>();
  BeginExecSync(id, command, std::move(deadline),
                [ended](StatusOr<ExecResult> result) { ended->set_value(std::move(result)); });
  return ended->get_future().get();
}

void GrpcRuntime::BeginExecSync(const ContainerId& id, const ExecCommand& command,
                                Deadline deadline, Executed done) {
  const Status may = [] {
    FAIL_POINT("cri.exec-sync.before");
    return OkStatus();
  }();
  if (!may.ok()) return done(may);
  deadline.at = std::min(deadline.at, impl_->clock.Now() + impl_->limits.ExecSync(command.timeout));
  impl_->execs.Begin(id, command, deadline, [done = std::move(done)](StatusOr<ExecResult> result) {
    done(ExecAnswer(std::move(result)));
  });
}

// Remover.

Status GrpcRuntime::RemovePodSandbox(const SandboxId& id, Deadline deadline) {
  FAIL_POINT("cri.remove-pod-sandbox.before");
  v1::RemovePodSandboxRequest request;
  v1::RemovePodSandboxResponse response;
  request.set_pod_sandbox_id(id.str());
  const Status status =
      impl_->Invoke("remove_podsandbox", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->RemovePodSandbox(context, request, &response);
      });
  FAIL_POINT("cri.remove-pod-sandbox.after");
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

Status GrpcRuntime::RemoveContainer(const ContainerId& id, Deadline deadline) {
  FAIL_POINT("cri.remove-container.before");
  v1::RemoveContainerRequest request;
  v1::RemoveContainerResponse response;
  request.set_container_id(id.str());
  const Status status =
      impl_->Invoke("remove_container", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->RemoveContainer(context, request, &response);
      });
  FAIL_POINT("cri.remove-container.after");
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

Status GrpcRuntime::RemoveImage(const std::string& id, Deadline deadline) {
  FAIL_POINT("cri.remove-image.before");
  v1::RemoveImageRequest request;
  v1::RemoveImageResponse response;
  request.mutable_image()->set_image(id);
  const Status status = impl_->Invoke("remove_image", deadline, [&](grpc::ClientContext* context) {
    return impl_->images->RemoveImage(context, request, &response);
  });
  FAIL_POINT("cri.remove-image.after");
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

// Images.

StatusOr<std::vector<Image>> GrpcRuntime::ListImages(Deadline deadline) {
  FAIL_POINT("cri.list-images.before");
  v1::ListImagesResponse response;
  const Status status = impl_->Invoke("list_images", deadline, [&](grpc::ClientContext* context) {
    return impl_->images->ListImages(context, v1::ListImagesRequest(), &response);
  });
  FAIL_POINT("cri.list-images.after");
  if (!status.ok()) return status;
  std::vector<Image> listed;
  for (const auto& image : response.images()) listed.push_back(FromProto(image));
  return listed;
}

StatusOr<std::optional<Image>> GrpcRuntime::ImageStatus(const ImageQuery& query,
                                                        Deadline deadline) {
  FAIL_POINT("cri.image-status.before");
  v1::ImageStatusRequest request;
  v1::ImageStatusResponse response;
  request.mutable_image()->set_image(query.image);
  request.mutable_image()->mutable_annotations()->insert(query.annotations.begin(),
                                                         query.annotations.end());
  const Status status = impl_->Invoke("image_status", deadline, [&](grpc::ClientContext* context) {
    return impl_->images->ImageStatus(context, request, &response);
  });
  FAIL_POINT("cri.image-status.after");
  if (status.code() == StatusCode::kNotFound) return std::nullopt;
  if (!status.ok()) return status;
  if (!response.has_image()) return std::nullopt;
  if (response.image().id().empty())
    return Internal("the status of image {} has no id", query.image);
  return FromProto(response.image());
}

StatusOr<std::string> GrpcRuntime::PullImage(const std::string& image, const v1::AuthConfig* auth,
                                             const v1::PodSandboxConfig& sandbox_config,
                                             Deadline deadline) {
  FAIL_POINT("cri.pull-image.before");
  v1::PullImageResponse response;
  const auto request = PullRequest(image, auth, sandbox_config);
  const Duration limit = impl_->limits.PullImage();
  const Status status =
      impl_->Invoke("pull_image", deadline, limit, [&](grpc::ClientContext* context) {
        return impl_->images->PullImage(context, request, &response);
      });
  return PullAnswer(image, status, response);
}

void GrpcRuntime::BeginPullImage(const PullOrder& order, Deadline deadline, Pulled done) {
  const Status may = [] {
    FAIL_POINT("cri.pull-image.before");
    return OkStatus();
  }();
  if (!may.ok()) return done(may);
  impl_->Begin<v1::PullImageResponse>(
      {"pull_image", deadline, impl_->limits.PullImage()},
      PullRequest(order.image, order.auth, order.sandbox_config),
      [this](auto* context, auto* request, auto* response, auto end) {
        impl_->images->async()->PullImage(context, request, response, end);
      },
      [image = order.image, done = std::move(done)](const Status& status,
                                                    const v1::PullImageResponse& response) {
        done(PullAnswer(image, status, response));
      });
}

StatusOr<ImageFsReport> GrpcRuntime::ImageFsInfo(Deadline deadline) {
  FAIL_POINT("cri.image-fs-info.before");
  v1::ImageFsInfoResponse response;
  const Status status = impl_->Invoke("image_fs_info", deadline, [&](grpc::ClientContext* context) {
    return impl_->images->ImageFsInfo(context, v1::ImageFsInfoRequest(), &response);
  });
  FAIL_POINT("cri.image-fs-info.after");
  if (!status.ok()) return status;
  return FromProto(response);
}

StatusOr<std::string> GrpcRuntime::SandboxImage(Deadline deadline) {
  FAIL_POINT("cri.status.before");
  v1::StatusRequest request;
  v1::StatusResponse response;
  request.set_verbose(true);
  const Status status = impl_->Invoke("status", deadline, [&](grpc::ClientContext* context) {
    return impl_->runtime->Status(context, request, &response);
  });
  FAIL_POINT("cri.status.after");
  if (!status.ok()) return status;
  const auto config = response.info().find("config");
  return config == response.info().end() ? "" : SandboxImageIn(config->second);
}

// Logs.

Status GrpcRuntime::ReopenContainerLog(const ContainerId& id, Deadline deadline) {
  FAIL_POINT("cri.reopen-container-log.before");
  v1::ReopenContainerLogRequest request;
  v1::ReopenContainerLogResponse response;
  request.set_container_id(id.str());
  const Status status =
      impl_->Invoke("reopen_container_log", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->ReopenContainerLog(context, request, &response);
      });
  FAIL_POINT("cri.reopen-container-log.after");
  return status;
}

// Stats.

StatusOr<std::vector<ContainerStats>> GrpcRuntime::ListContainerStats(Deadline deadline) {
  FAIL_POINT("cri.list-container-stats.before");
  v1::ListContainerStatsResponse response;
  const Status status =
      impl_->Invoke("list_container_stats", deadline, [&](grpc::ClientContext* context) {
        return impl_->runtime->ListContainerStats(context, v1::ListContainerStatsRequest(),
                                                  &response);
      });
  FAIL_POINT("cri.list-container-stats.after");
  if (!status.ok()) return status;
  std::vector<ContainerStats> listed;
  for (const auto& stats : response.stats()) listed.push_back(FromProto(stats));
  return listed;
}

}  // namespace splitlet::cri
