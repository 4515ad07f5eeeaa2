#include "libs/csi/grpc_driver.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "csi/v1/csi.grpc.pb.h"
#include "libs/base/cancel.h"
#include "libs/base/fail_point.h"
#include "libs/csi/secrets.h"
#include "libs/rpc/call_steps.h"
#include "libs/rpc/rpc.h"

namespace splitlet::csi {
namespace {

/// A method of csi.v1.Node. The fail points return an error in place of the call, or of its answer.
struct Method {
  const char* name;
  Status (*before)();
  Status (*after)();
};

/// A call under way, whatever it asks.
class UnderWay {
 public:
  virtual ~UnderWay() = default;
  virtual void Cancel() = 0;
  uint64_t id = 0;  // an address may be used again before its call counts as gone
};

Answer<Nothing> Emptied(const Status& status, ErrorClass error_class) {
  return {status, error_class, {}};
}

template <class Reply>
Answer<Reply> Read(const Answer<Nothing>& end, StatusOr<Reply> reply) {
  if (!end.status.ok()) return {end.status, end.error_class, {}};
  if (!reply.ok()) return {reply.status(), ErrorClass::kFinal, {}};
  return {OkStatus(), end.error_class, *std::move(reply)};
}

}  // namespace

struct GrpcDriver::Impl {
  using AsyncStub = v1::Node::StubInterface::async_interface;
  template <class Request, class Response>
  using Start = void (AsyncStub::*)(grpc::ClientContext*, const Request*, Response*,
                                    grpc::ClientUnaryReactor*);
  template <class Response>
  using Ended = std::function<void(const Answer<Nothing>&, const Response&)>;

  template <class Request, class Response>
  class Call;

  explicit Impl(Deps d)
      : deps(std::move(d)),
        channel(rpc::ConnectPlugin(deps.socket_path)),
        stub(v1::Node::NewStub(channel)) {}

  /// An error: nothing of the call has reached the driver, nor will.
  Status CheckSent(const Method& method, size_t request_bytes) const {
    if (Status failed = method.before(); !failed.ok()) return failed;
    if (request_bytes > static_cast<size_t>(rpc::kPluginMessageBytes))
      return InvalidArgument("a request of {} bytes, at most {}", request_bytes,
                             rpc::kPluginMessageBytes);
    RETURN_IF_ERROR(rpc::CheckSocketOwner(deps.socket_path), "connect to the driver");
    RETURN_IF_ERROR(rpc::ListenerOf(deps.socket_path), "connect to the driver");
    return OkStatus();
  }

  /// Keeps the call until its answer, unless it is one too many.
  Status Keep(std::unique_ptr<UnderWay> call) {
    const std::lock_guard lock(mutex);
    if (given_up) return Cancelled("calls to the driver are given up");
    if (calls.size() >= deps.max_calls)
      return ResourceExhausted("{} calls to the driver are under way", calls.size());
    call->id = ++last_id;
    const uint64_t id = call->id;
    calls[id] = std::move(call);
    return OkStatus();
  }

  template <class Request, class Response>
  void Begin(const Method& method, Start<Request, Response> start, const Request& request,
             std::pair<Deadline, Ended<Response>> end);

  /// Destroyed outside of the lock and before the call counts as gone: a thread of gRPC's must not
  /// be the last holder of the channel.
  void Finished(uint64_t id) {
    std::unique_ptr<UnderWay> owned;
    {
      const std::lock_guard lock(mutex);
      owned = std::move(calls.at(id));
    }
    owned.reset();
    const std::lock_guard lock(mutex);
    calls.erase(id);
    if (calls.empty()) none_left.notify_all();
  }

  void CancelAll() {
    const std::lock_guard lock(mutex);
    given_up = true;
    for (const auto& [id, owned] : calls)
      if (owned != nullptr) owned->Cancel();
  }

  const Deps deps;
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::Node::Stub> stub;
  std::mutex mutex;
  std::condition_variable none_left;
  std::map<uint64_t, std::unique_ptr<UnderWay>> calls;  // null: its answer was given
  uint64_t last_id = 0;
  bool given_up = false;
};

template <class Request, class Response>
class GrpcDriver::Impl::Call final : public UnderWay, public grpc::ClientUnaryReactor {
 public:
  struct Order {
    Method method;
    Request request;
    Deadline deadline;
    Ended<Response> ended;
  };
  Call(Impl& impl, Order order)
      : impl_(impl),
        order_(std::move(order)),
        begin_(impl.deps.clock.Now()),
        client_(impl.deps.clock, {std::min(order_.deadline.at, begin_ + impl.deps.call_limit),
                                  order_.deadline.cancel}) {}

  void Begin(Start<Request, Response> start) {
    (impl_.stub->async()->*start)(&client_.context(), &order_.request, &response_, this);
    steps_.Next();
    StartCall();
  }
  void Cancel() override { client_.context().TryCancel(); }

  void OnDone(const grpc::Status& answer) override {
    steps_.Next();
    const Status status = StatusOf(answer);
    if (impl_.deps.on_end)
      impl_.deps.on_end({.method = order_.method.name,
                         .code = status.code(),
                         .took = impl_.deps.clock.Now() - begin_});
    order_.ended(Emptied(status, ClassOf(status.code())), response_);
    impl_.Finished(id);
  }

 private:
  /// Without secrets before anything else sees the text.
  Status StatusOf(const grpc::Status& answer) const {
    if (const Status failed = order_.method.after(); !failed.ok()) return failed;
    if (answer.ok()) return OkStatus();
    return rpc::FromGrpc(
        {answer.error_code(), WithoutSecrets(answer.error_message(), SecretsIn(order_.request))});
  }

  Impl& impl_;
  const Order order_;
  const Clock::Time begin_;
  rpc::ClientCall client_;
  Response response_;
  rpc::CallSteps steps_;
};

template <class Request, class Response>
void GrpcDriver::Impl::Begin(const Method& method, Start<Request, Response> start,
                             const Request& request, std::pair<Deadline, Ended<Response>> end) {
  using Made = Call<Request, Response>;
  Status refused = CheckSent(method, request.ByteSizeLong());
  if (refused.ok()) {
    auto made =
        std::make_unique<Made>(*this, typename Made::Order{method, request, end.first, end.second});
    Made* const call = made.get();
    refused = Keep(std::move(made));
    if (refused.ok()) return call->Begin(start);
  }
  end.second(Emptied(refused, ErrorClass::kTransient), Response());
}

GrpcDriver::GrpcDriver(Deps deps) : impl_(std::make_unique<Impl>(std::move(deps))) {}

GrpcDriver::~GrpcDriver() { Stop(); }

void GrpcDriver::GiveUp() { impl_->CancelAll(); }

void GrpcDriver::Stop() {
  impl_->CancelAll();
  std::unique_lock lock(impl_->mutex);
  impl_->none_left.wait(lock, [this] { return impl_->calls.empty(); });
}

void GrpcDriver::BeginGetInfo(Deadline deadline, GotInfo done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodeGetInfo",
                                  [] {
                                    FAIL_POINT("csi.node-get-info.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-get-info.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodeGetInfoRequest, v1::NodeGetInfoResponse>(
      kMethod, &Impl::AsyncStub::NodeGetInfo, {},
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto& response) {
         done(Read(end, ReadNodeInfo(response)));
       }});
}

void GrpcDriver::BeginGetCapabilities(Deadline deadline, GotCapabilities done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodeGetCapabilities",
                                  [] {
                                    FAIL_POINT("csi.node-get-capabilities.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-get-capabilities.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodeGetCapabilitiesRequest, v1::NodeGetCapabilitiesResponse>(
      kMethod, &Impl::AsyncStub::NodeGetCapabilities, {},
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto& response) {
         done(Read<NodeCapabilities>(end, ReadCapabilities(response)));
       }});
}

void GrpcDriver::BeginStage(const v1::NodeStageVolumeRequest& request, Deadline deadline,
                            Done done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodeStageVolume",
                                  [] {
                                    FAIL_POINT("csi.node-stage-volume.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-stage-volume.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodeStageVolumeRequest, v1::NodeStageVolumeResponse>(
      kMethod, &Impl::AsyncStub::NodeStageVolume, request,
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto&) { done(end); }});
}

void GrpcDriver::BeginUnstage(const v1::NodeUnstageVolumeRequest& request, Deadline deadline,
                              Done done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodeUnstageVolume",
                                  [] {
                                    FAIL_POINT("csi.node-unstage-volume.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-unstage-volume.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodeUnstageVolumeRequest, v1::NodeUnstageVolumeResponse>(
      kMethod, &Impl::AsyncStub::NodeUnstageVolume, request,
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto&) { done(end); }});
}

void GrpcDriver::BeginPublish(const v1::NodePublishVolumeRequest& request, Deadline deadline,
                              Done done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodePublishVolume",
                                  [] {
                                    FAIL_POINT("csi.node-publish-volume.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-publish-volume.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodePublishVolumeRequest, v1::NodePublishVolumeResponse>(
      kMethod, &Impl::AsyncStub::NodePublishVolume, request,
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto&) { done(end); }});
}

void GrpcDriver::BeginUnpublish(const v1::NodeUnpublishVolumeRequest& request, Deadline deadline,
                                Done done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodeUnpublishVolume",
                                  [] {
                                    FAIL_POINT("csi.node-unpublish-volume.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-unpublish-volume.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodeUnpublishVolumeRequest, v1::NodeUnpublishVolumeResponse>(
      kMethod, &Impl::AsyncStub::NodeUnpublishVolume, request,
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto&) { done(end); }});
}

void GrpcDriver::BeginExpand(const v1::NodeExpandVolumeRequest& request, Deadline deadline,
                             Expanded done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodeExpandVolume",
                                  [] {
                                    FAIL_POINT("csi.node-expand-volume.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-expand-volume.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodeExpandVolumeRequest, v1::NodeExpandVolumeResponse>(
      kMethod, &Impl::AsyncStub::NodeExpandVolume, request,
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto& response) {
         done(Read<int64_t>(end, std::max<int64_t>(response.capacity_bytes(), 0)));
       }});
}

void GrpcDriver::BeginGetStats(const v1::NodeGetVolumeStatsRequest& request, Deadline deadline,
                               GotStats done) {
  static constexpr Method kMethod{"/csi.v1.Node/NodeGetVolumeStats",
                                  [] {
                                    FAIL_POINT("csi.node-get-volume-stats.before");
                                    return OkStatus();
                                  },
                                  [] {
                                    FAIL_POINT("csi.node-get-volume-stats.after");
                                    return OkStatus();
                                  }};
  impl_->Begin<v1::NodeGetVolumeStatsRequest, v1::NodeGetVolumeStatsResponse>(
      kMethod, &Impl::AsyncStub::NodeGetVolumeStats, request,
      {std::move(deadline), [done = std::move(done)](const auto& end, const auto& response) {
         done(Read(end, ReadVolumeStats(response)));
       }});
}

}  // namespace splitlet::csi
