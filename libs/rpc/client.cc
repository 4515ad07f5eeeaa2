#include "libs/rpc/client.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libs/base/cancel.h"
#include "libs/rpc/call_steps.h"
#include "libs/rpc/library.h"
#include "libs/rpc/rpc.h"
#include "libs/rpc/watch.h"

namespace splitlet::rpc {
namespace {

/// A runtime may send the output of a command: 16 MiB of each of two streams, and some more.
constexpr int kMaxMessageBytes = 33 << 20;

grpc::ChannelArguments Arguments(int max_message_bytes = kMaxMessageBytes) {
  KeepLibraryUp();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Pings that measure the bandwidth of a unix socket would wake both ends after each call.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(max_message_bytes);
  arguments.SetMaxSendMessageSize(max_message_bytes);
  return arguments;
}

/// A directory that this user or root made for its owner, and that no other user can write.
bool IsPrivate(const struct stat& dir, const struct stat& parent) {
  const bool made_by_us = parent.st_uid == geteuid() || parent.st_uid == 0;
  return made_by_us && (dir.st_mode & S_IWOTH) == 0 && (parent.st_mode & S_IWOTH) == 0;
}

/// The socket must belong to `wanted`; without that, to this user, root, or the owner of a private
/// directory around it. A missing socket is fine: calls wait for it.
Status CheckSocket(const std::string& path, std::optional<uint32_t> wanted) {
  struct stat socket {};
  if (lstat(path.c_str(), &socket) != 0) return OkStatus();
  if (!S_ISSOCK(socket.st_mode)) return PermissionDenied("{} is no socket", path);
  if (socket.st_uid == wanted.value_or(geteuid())) return OkStatus();
  if (!wanted && socket.st_uid == 0) return OkStatus();
  if (wanted)
    return PermissionDenied("{} belongs to user {}, want {}", path, socket.st_uid, *wanted);
  const std::string dir_path = path.substr(0, path.rfind('/'));
  struct stat dir {
  }, parent{};
  const bool found =
      stat(dir_path.c_str(), &dir) == 0 && stat((dir_path + "/..").c_str(), &parent) == 0;
  if (found && dir.st_uid == socket.st_uid && IsPrivate(dir, parent)) return OkStatus();
  return PermissionDenied("{} belongs to user {}", path, socket.st_uid);
}

/// Answers a call itself if the socket belongs to another user.
class CheckOwner final : public grpc::experimental::Interceptor {
 public:
  CheckOwner(std::string path, std::optional<uint32_t> wanted)
      : path_(std::move(path)), wanted_(wanted) {
    steps_.Next();
  }
  ~CheckOwner() override { steps_.Next(); }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    steps_.Next();
    const bool refused_now = Check(*methods);
    steps_.Next();
    if (refused_now) return methods->Hijack();
    methods->Proceed();
  }

 private:
  /// True: this step of the call has found the wrong owner.
  bool Check(grpc::experimental::InterceptorBatchMethods& methods) {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods.QueryInterceptionHookPoint(Point::PRE_SEND_INITIAL_METADATA)) {
      status_ = CheckSocket(path_, wanted_);
      if (!status_.ok()) return true;
    }
    if (!status_.ok()) Refuse(methods);
    return false;
  }

  void Refuse(grpc::experimental::InterceptorBatchMethods& methods) {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods.QueryInterceptionHookPoint(Point::PRE_RECV_MESSAGE))
      methods.FailHijackedRecvMessage();
    if (methods.QueryInterceptionHookPoint(Point::PRE_SEND_MESSAGE))
      methods.FailHijackedSendMessage();
    if (methods.QueryInterceptionHookPoint(Point::PRE_RECV_STATUS))
      *methods.GetRecvStatus() = ToGrpc(status_);
  }

  const std::string path_;
  const std::optional<uint32_t> wanted_;
  Status status_;
  CallSteps steps_;
};

class CheckOwnerFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  CheckOwnerFactory(std::string path, std::optional<uint32_t> wanted)
      : path_(std::move(path)), wanted_(wanted) {}
  // gRPC takes ownership of the pointer.
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* /*info*/) override {
    return std::make_unique<CheckOwner>(path_, wanted_).release();
  }

 private:
  const std::string path_;
  const std::optional<uint32_t> wanted_;
};

using Factory = grpc::experimental::ClientInterceptorFactoryInterface;

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& socket_path, CallMetrics* metrics,
                                       std::optional<uint32_t> server_uid) {
  std::vector<std::unique_ptr<Factory>> interceptors;
  interceptors.push_back(WatchClient(metrics));  // first: it sees refused calls too
  interceptors.push_back(std::make_unique<CheckOwnerFactory>(socket_path, server_uid));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      "unix:" + socket_path, grpc::InsecureChannelCredentials(), Arguments(),
      std::move(interceptors));
}

std::shared_ptr<grpc::Channel> ConnectEndpoint(const std::string& endpoint) {
  const bool bare = endpoint.starts_with('/');
  std::vector<std::unique_ptr<Factory>> interceptors;
  interceptors.push_back(WatchClient(nullptr));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      bare ? "unix://" + endpoint : endpoint, grpc::InsecureChannelCredentials(), Arguments(),
      std::move(interceptors));
}

std::shared_ptr<grpc::Channel> ConnectPlugin(const std::string& socket_path) {
  std::vector<std::unique_ptr<Factory>> interceptors;
  interceptors.push_back(WatchClient(nullptr));
  interceptors.push_back(std::make_unique<CheckOwnerFactory>(socket_path, std::nullopt));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      "unix:" + socket_path, grpc::InsecureChannelCredentials(), Arguments(kPluginMessageBytes),
      std::move(interceptors));
}

Status CheckSocketOwner(const std::string& socket_path) {
  return CheckSocket(socket_path, std::nullopt);
}

struct ClientCall::Impl {
  grpc::ClientContext context;
  std::shared_ptr<CancelToken> cancel;
  int cancel_id = 0;
};

ClientCall::ClientCall(const Clock& clock, const Deadline& deadline, const std::string& traceparent)
    : impl_(std::make_unique<Impl>()) {
  const Duration left = Remaining(clock, deadline);
  impl_->context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left.count(), GPR_TIMESPAN)));
  impl_->context.set_wait_for_ready(true);
  if (!traceparent.empty()) impl_->context.AddMetadata("traceparent", traceparent);
  if (deadline.cancel == nullptr) return;
  impl_->cancel = deadline.cancel;
  impl_->cancel_id = deadline.cancel->Add([context = &impl_->context] { context->TryCancel(); });
}

ClientCall::~ClientCall() {
  if (impl_->cancel != nullptr) impl_->cancel->Remove(impl_->cancel_id);
}

grpc::ClientContext& ClientCall::context() { return impl_->context; }

}  // namespace splitlet::rpc
