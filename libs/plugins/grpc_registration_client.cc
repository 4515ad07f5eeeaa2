#include "libs/plugins/grpc_registration_client.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

#include "libs/base/cancel.h"
#include "libs/base/fail_point.h"
#include "libs/plugins/dial_socket.h"
#include "libs/rpc/call_steps.h"
#include "libs/rpc/library.h"
#include "libs/rpc/rpc.h"
#include "pluginregistration/v1/api.grpc.pb.h"

namespace splitlet::plugins {
namespace {

namespace v1 = pluginregistration;

using Stub = v1::Registration::Stub;

/// Shared with the calls of the connection.
struct Channel {
  explicit Channel(std::shared_ptr<grpc::Channel> connected)
      : channel(std::move(connected)), stub(v1::Registration::NewStub(channel)) {}
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<Stub> stub;
};

std::shared_ptr<grpc::Channel> MakeChannel(fs::Fd connected) {
  rpc::KeepLibraryUp();
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(GrpcRegistrationClient::kMaxAnswerBytes);
  return grpc::CreateCustomInsecureChannelFromFd("localhost", connected.Release(), arguments);
}

StatusOr<Plugin> InfoAnswer(const Status& status, const v1::PluginInfo& info) {
  FAIL_POINT("plugins.get-info.after");
  if (!status.ok()) return status;
  Plugin plugin;
  plugin.type = info.type();
  plugin.name = info.name();
  plugin.endpoint = info.endpoint();
  plugin.versions.assign(info.supported_versions().begin(), info.supported_versions().end());
  return plugin;
}

Status NotifyAnswer(const Status& status) {
  FAIL_POINT("plugins.notify.after");
  return status;
}

v1::RegistrationStatus StatusMessage(const Status& outcome) {
  v1::RegistrationStatus status;
  status.set_plugin_registered(outcome.ok());
  if (!outcome.ok()) status.set_error(Message(outcome));
  return status;
}

}  // namespace

/// Counts the calls, so that the client's end can wait for them.
class GrpcRegistrationClient::Calls {
 public:
  Calls(const Clock& c, exec::EventLoop& l) : clock(c), loop(l) {}
  void Began() {
    const std::lock_guard lock(mutex_);
    ++under_way_;
  }
  /// The channel is freed on the loop: a thread of gRPC's must not be its last holder.
  void Ended(std::shared_ptr<Channel> channel) {
    loop.Post([channel = std::move(channel)] {});
    const std::lock_guard lock(mutex_);
    if (--under_way_ == 0) none_left_.notify_all();
  }
  void WaitEnded() {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return under_way_ == 0; });
  }

  const Clock& clock;
  exec::EventLoop& loop;
  CancelToken given_up;  // of all calls

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  size_t under_way_ = 0;
};

namespace {

using Calls = GrpcRegistrationClient::Calls;

/// A call under way. Deletes itself after its answer.
template <class Request, class Response>
class Call final : public grpc::ClientUnaryReactor {
 public:
  using Done = std::function<void(const Status&, const Response&)>;
  using Method = void (Stub::async_interface::*)(grpc::ClientContext*, const Request*, Response*,
                                                 grpc::ClientUnaryReactor*);
  struct Order {
    std::shared_ptr<Channel> channel;
    Method method;
    Request request;
    Deadline deadline;
    Done done;
  };
  static void Begin(const std::shared_ptr<Calls>& calls, Order order) {
    calls->Began();
    std::make_unique<Call>(calls, std::move(order)).release()->Start();
  }
  Call(std::shared_ptr<Calls> calls, Order order)
      : calls_(std::move(calls)),
        channel_(std::move(order.channel)),
        method_(order.method),
        request_(std::move(order.request)),
        done_(std::move(order.done)),
        client_(std::make_unique<rpc::ClientCall>(calls_->clock, order.deadline)) {}

  void OnDone(const grpc::Status& answer) override {
    steps_.Next();
    const auto calls = calls_;
    calls->given_up.Remove(cancel_id_);
    done_(rpc::FromGrpc(answer), response_);
    auto channel = std::move(channel_);
    delete this;  // first: it holds the channel too
    calls->Ended(std::move(channel));
  }

 private:
  void Start() {
    (channel_->stub->async()->*method_)(&client_->context(), &request_, &response_, this);
    cancel_id_ = calls_->given_up.Add([this] { client_->context().TryCancel(); });
    steps_.Next();
    StartCall();
  }

  const std::shared_ptr<Calls> calls_;
  std::shared_ptr<Channel> channel_;
  const Method method_;
  const Request request_;
  Response response_;
  const Done done_;
  std::unique_ptr<rpc::ClientCall> client_;
  int cancel_id_ = 0;  // of `given_up`
  rpc::CallSteps steps_;
};

class GrpcPluginConnection final : public PluginConnection {
 public:
  GrpcPluginConnection(std::shared_ptr<Calls> calls, std::shared_ptr<Channel> channel)
      : calls_(std::move(calls)), channel_(std::move(channel)) {}
  ~GrpcPluginConnection() override { closed_->Cancel(); }

  void BeginGetInfo(const Deadline& deadline, OnInfo done) override {
    const Status may = [] {
      FAIL_POINT("plugins.get-info.before");
      return OkStatus();
    }();
    if (!may.ok()) return done(may);
    Call<v1::InfoRequest, v1::PluginInfo>::Begin(
        calls_,
        {.channel = channel_,
         .method = &Stub::async_interface::GetInfo,
         .request = {},
         .deadline = {deadline.at, closed_},
         .done = [done = std::move(done)](const Status& status, const v1::PluginInfo& info) {
           done(InfoAnswer(status, info));
         }});
  }

  void BeginNotify(const Status& outcome, const Deadline& deadline, OnNotified done) override {
    const Status may = [] {
      FAIL_POINT("plugins.notify.before");
      return OkStatus();
    }();
    if (!may.ok()) return done(may);
    Call<v1::RegistrationStatus, v1::RegistrationStatusResponse>::Begin(
        calls_, {.channel = channel_,
                 .method = &Stub::async_interface::NotifyRegistrationStatus,
                 .request = StatusMessage(outcome),
                 .deadline = {deadline.at, closed_},
                 .done = [done = std::move(done)](const Status& status,
                                                  const v1::RegistrationStatusResponse&) {
                   done(NotifyAnswer(status));
                 }});
  }

 private:
  const std::shared_ptr<Calls> calls_;
  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<CancelToken> closed_ = std::make_shared<CancelToken>();
};

}  // namespace

GrpcRegistrationClient::GrpcRegistrationClient(const Clock& clock, exec::EventLoop& loop)
    : calls_(std::make_shared<Calls>(clock, loop)) {}

GrpcRegistrationClient::~GrpcRegistrationClient() {
  calls_->given_up.Cancel();
  calls_->WaitEnded();
}

StatusOr<RegistrationClient::Connection> GrpcRegistrationClient::Dial(const PluginSocket& socket) {
  auto connected = DialSocket(socket);
  if (!connected.ok()) return connected.status();
  return std::make_shared<GrpcPluginConnection>(
      calls_, std::make_shared<Channel>(MakeChannel(*std::move(connected))));
}

}  // namespace splitlet::plugins
