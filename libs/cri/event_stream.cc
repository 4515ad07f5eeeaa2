#include "libs/cri/event_stream.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>

#include "containerd/events.pb.h"
#include "containerd/events_service.grpc.pb.h"
#include "libs/base/fail_point.h"
#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::cri {
namespace {

namespace ctrd = containerd::services::events::v1;

// grpc-go sends nothing before the first event, so a stream that has not failed by then counts as
// open.
constexpr Duration kSettle = 300ms;

// CRI-O without enable_pod_events answers with a stream that ends with OK.
constexpr const char* kNoEvents =
    "the runtime ended the stream immediately: it publishes no events. CRI-O does with "
    "enable_pod_events = true in [crio.runtime] of its configuration";

gpr_timespec FromNow(Duration d) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(d.count(), GPR_TIMESPAN));
}

/// Reads a server stream on the calling thread until it ends or is cancelled.
template <class Message>
class StreamRun {
 public:
  using Prepare = std::function<std::unique_ptr<grpc::ClientAsyncReader<Message>>(
      grpc::ClientContext*, grpc::CompletionQueue*)>;
  StreamRun(const Clock& clock, const Deadline& deadline) : clock_(clock), deadline_(deadline) {}
  grpc::ClientContext& context() { return context_; }

  Status Read(const Prepare& prepare, const std::function<void()>& on_open,
              const std::function<void(const Message&)>& on_message) {
    int cancel_id = 0;
    if (deadline_.cancel) cancel_id = deadline_.cancel->Add([this] { context_.TryCancel(); });
    reader_ = prepare(&context_, &queue_);
    reader_->StartCall(kStep);
    Status status = Begin();
    if (status.ok()) status = Follow(on_open, on_message);
    if (deadline_.cancel) deadline_.cancel->Remove(cancel_id);
    return status;
  }

 private:
  static inline void* const kStep = nullptr;  // tag of each operation: only one runs at a time

  Status Begin() {
    void* tag = nullptr;
    bool ok = false;
    const auto got = queue_.AsyncNext(&tag, &ok, FromNow(Remaining(clock_, deadline_)));
    if (got == grpc::CompletionQueue::TIMEOUT) {
      context_.TryCancel();
      queue_.Next(&tag, &ok);
      Finish(/*was_open=*/false).IgnoreError();  // the result is the cancellation made just before
      return DeadlineExceeded("the event stream does not open");
    }
    return ok ? OkStatus() : Finish(/*was_open=*/false);
  }

  Status Follow(const std::function<void()>& on_open,
                const std::function<void(const Message&)>& on_message) {
    bool open = false;
    while (true) {
      Message message;
      void* tag = nullptr;
      bool ok = false;
      reader_->Read(&message, kStep);
      if (!open &&
          queue_.AsyncNext(&tag, &ok, FromNow(kSettle)) == grpc::CompletionQueue::TIMEOUT) {
        open = true;
        on_open();
        queue_.Next(&tag, &ok);
      } else if (open) {
        queue_.Next(&tag, &ok);
      }
      if (!ok) return Finish(open);
      if (!std::exchange(open, true)) on_open();
      on_message(message);
    }
  }

  Status Finish(bool was_open) {
    grpc::Status status;
    void* tag = nullptr;
    bool ok = false;
    reader_->Finish(&status, kStep);
    queue_.Next(&tag, &ok);
    queue_.Shutdown();
    while (queue_.Next(&tag, &ok)) {
    }
    if (status.ok())
      return was_open ? Unavailable("the event stream ended") : Unimplemented(kNoEvents);
    return rpc::FromGrpc(status);
  }

  const Clock& clock_;
  const Deadline& deadline_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<Message>> reader_;
};

/// Waits until the runtime answers, so that no stream is tried on a missing socket.
Status WaitForRuntime(runtime::v1::RuntimeService::Stub& stub, const Clock& clock,
                      const Deadline& deadline) {
  rpc::ClientCall call(clock, deadline);
  runtime::v1::VersionRequest request;
  runtime::v1::VersionResponse response;
  request.set_version("0.1.0");
  return rpc::FromGrpc(stub.Version(&call.context(), request, &response));
}

class CriEventStream final : public EventStream {
 public:
  CriEventStream(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock)
      : clock_(clock), stub_(runtime::v1::RuntimeService::NewStub(channel)) {}

  Status Follow(Deadline deadline, const std::function<void()>& on_open,
                const std::function<void(const ContainerEvent&)>& on_event) override {
    FAIL_POINT("cri.get-container-events.before");
    RETURN_IF_ERROR(WaitForRuntime(*stub_, clock_, deadline), "Version");
    StreamRun<runtime::v1::ContainerEventResponse> run(clock_, deadline);
    return run.Read(
        [this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
          return stub_->PrepareAsyncGetContainerEvents(context, {}, queue);
        },
        on_open,
        [&](const runtime::v1::ContainerEventResponse& message) { on_event(ToEvent(message)); });
  }

 private:
  static ContainerEvent::Kind ToKind(runtime::v1::ContainerEventType type) {
    using Kind = ContainerEvent::Kind;
    if (type == runtime::v1::CONTAINER_STARTED_EVENT) return Kind::kStarted;
    if (type == runtime::v1::CONTAINER_STOPPED_EVENT) return Kind::kStopped;
    if (type == runtime::v1::CONTAINER_DELETED_EVENT) return Kind::kDeleted;
    return Kind::kCreated;
  }

  static ContainerEvent ToEvent(const runtime::v1::ContainerEventResponse& message) {
    ContainerEvent event;
    event.container_id = message.container_id();
    event.pod_uid = message.pod_sandbox_status().metadata().uid();
    event.kind = ToKind(message.container_event_type());
    return event;
  }

  const Clock& clock_;
  std::unique_ptr<runtime::v1::RuntimeService::Stub> stub_;
};

template <class Message>
std::optional<Message> Parse(const ctrd::Envelope& envelope) {
  // UnpackTo refuses the type URL, because it is a bare message name.
  Message message;
  if (!message.ParseFromString(envelope.event().value())) return std::nullopt;
  return message;
}

std::optional<ContainerEvent> FromTask(const ctrd::Envelope& envelope) {
  using Kind = ContainerEvent::Kind;
  const std::string& topic = envelope.topic();
  if (topic == "/tasks/start") {
    const auto start = Parse<containerd::events::TaskStart>(envelope);
    if (start) return ContainerEvent{Kind::kStarted, start->container_id(), ""};
  } else if (topic == "/tasks/exit") {
    const auto exit = Parse<containerd::events::TaskExit>(envelope);
    // Any other id belongs to a command in the container, such as a probe.
    if (exit && exit->id() == exit->container_id())
      return ContainerEvent{Kind::kStopping, exit->container_id(), ""};
  } else if (topic == "/tasks/delete") {
    const auto gone = Parse<containerd::events::TaskDelete>(envelope);
    if (gone) return ContainerEvent{Kind::kStopped, gone->container_id(), ""};
  }
  return std::nullopt;
}

std::optional<ContainerEvent> ToEvent(const ctrd::Envelope& envelope) {
  using Kind = ContainerEvent::Kind;
  if (envelope.topic() == "/containers/delete") {
    const auto gone = Parse<containerd::events::ContainerDelete>(envelope);
    if (gone) return ContainerEvent{Kind::kDeleted, gone->id(), ""};
  }
  return FromTask(envelope);
}

class ContainerdEventStream final : public EventStream {
 public:
  ContainerdEventStream(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock)
      : clock_(clock),
        runtime_(runtime::v1::RuntimeService::NewStub(channel)),
        events_(ctrd::Events::NewStub(channel)) {}

  Status Follow(Deadline deadline, const std::function<void()>& on_open,
                const std::function<void(const ContainerEvent&)>& on_event) override {
    FAIL_POINT("cri.subscribe.before");
    RETURN_IF_ERROR(WaitForRuntime(*runtime_, clock_, deadline), "Version");
    StreamRun<ctrd::Envelope> run(clock_, deadline);
    run.context().AddMetadata("containerd-namespace", "k8s.io");
    ctrd::SubscribeRequest request;
    // The events that FromTask and ToEvent use. Subscribing to all would triple the events of a
    // pod's start.
    request.add_filters(R"(namespace==k8s.io,topic~="^/tasks/(start|exit|delete)$")");
    request.add_filters(R"(namespace==k8s.io,topic=="/containers/delete")");
    return run.Read(
        [&](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
          return events_->PrepareAsyncSubscribe(context, request, queue);
        },
        on_open,
        [&](const ctrd::Envelope& envelope) {
          if (const auto event = ToEvent(envelope)) on_event(*event);
        });
  }

 private:
  const Clock& clock_;
  std::unique_ptr<runtime::v1::RuntimeService::Stub> runtime_;
  std::unique_ptr<ctrd::Events::Stub> events_;
};

}  // namespace

std::unique_ptr<EventStream> MakeCriEventStream(const std::shared_ptr<grpc::Channel>& channel,
                                                const Clock& clock) {
  return std::make_unique<CriEventStream>(channel, clock);
}

std::unique_ptr<EventStream> MakeContainerdEventStream(
    const std::shared_ptr<grpc::Channel>& channel, const Clock& clock) {
  return std::make_unique<ContainerdEventStream>(channel, clock);
}

StreamThread::StreamThread(std::unique_ptr<EventStream> stream, const Clock& clock)
    : stream_(std::move(stream)), clock_(clock) {}

StreamThread::~StreamThread() { Stop(); }

void StreamThread::Start(Callbacks callbacks, Duration open_limit) {
  Stop();
  cancel_ = std::make_shared<CancelToken>();
  Deadline deadline = After(clock_, open_limit);
  deadline.cancel = cancel_;
  thread_ = std::thread([this, deadline, on = std::move(callbacks)] {
    on.on_end(stream_->Follow(deadline, on.on_open, on.on_event));
  });
}

void StreamThread::Stop() {
  if (!thread_.joinable()) return;
  cancel_->Cancel();
  thread_.join();
}

}  // namespace splitlet::cri
