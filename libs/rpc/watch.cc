#include "libs/rpc/watch.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>
#include <string_view>

#include "libs/base/span.h"
#include "libs/rpc/call_steps.h"
#include "libs/rpc/rpc.h"

namespace splitlet::rpc {
namespace {

using grpc::experimental::InterceptorBatchMethods;
using Point = grpc::experimental::InterceptionHookPoints;
using Side = CallMetrics::Side;

constexpr const char* kTraceparent = "traceparent";

/// "/splitlet.v1.Tables/List" is "Tables/List".
std::string ShortName(std::string_view method) {
  const auto slash = method.rfind('/');
  const auto dot = method.rfind('.', slash);
  return std::string(method.substr(dot == std::string_view::npos ? 0 : dot + 1));
}

/// A call, from its metadata to its status.
class Watched {
 public:
  Watched(Side side, const char* method, const Clock& clock, CallMetrics* metrics)
      : side_(side), method_(method), clock_(clock), metrics_(metrics) {
    steps_.Next();
  }
  ~Watched() { End(Cancelled("given up")); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Returns the traceparent that replaces the incoming one.
  const std::string& Begin(std::string traceparent) {
    steps_.Next();
    begin_ = clock_.Now();
    const SpanKind kind = side_ == Side::kClient ? SpanKind::kClient : SpanKind::kServer;
    span_.emplace(method_.substr(method_.starts_with('/') ? 1 : 0), kind, std::move(traceparent));
    steps_.Next();
    return span_->traceparent();
  }
  void End(const Status& status) {
    steps_.Next();
    if (!span_) return;
    span_->End(status);
    span_.reset();
    if (metrics_ != nullptr)
      metrics_->Note(side_, ShortName(method_), status.code(), clock_.Now() - begin_);
    steps_.Next();
  }

 private:
  const Side side_;
  const std::string_view method_;  // of the stub or the service, which outlive the call
  const Clock& clock_;
  CallMetrics* const metrics_;
  Clock::Time begin_;
  std::optional<Span> span_;
  CallSteps steps_;
};

class ClientWatch final : public grpc::experimental::Interceptor {
 public:
  ClientWatch(const char* method, const Clock& clock, CallMetrics* metrics)
      : call_(Side::kClient, method, clock, metrics) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_INITIAL_METADATA))
      Begin(*methods->GetSendInitialMetadata());
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_STATUS))
      call_.End(FromGrpc(*methods->GetRecvStatus()));
    methods->Proceed();
  }

 private:
  void Begin(std::multimap<std::string, std::string>& metadata) {
    const auto it = metadata.find(kTraceparent);
    const std::string& now = call_.Begin(it == metadata.end() ? "" : it->second);
    if (it != metadata.end()) it->second = now;
  }
  Watched call_;
};

class ServerWatch final : public grpc::experimental::Interceptor {
 public:
  ServerWatch(const char* method, const Clock& clock, CallMetrics* metrics)
      : call_(Side::kServer, method, clock, metrics) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA))
      Begin(*methods->GetRecvInitialMetadata());
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS))
      call_.End(FromGrpc(methods->GetSendStatus()));
    methods->Proceed();
  }

 private:
  /// The handler reads the metadata after this call.
  void Begin(std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
    const auto it = metadata.find(kTraceparent);
    const bool there = it != metadata.end();
    traceparent_ = call_.Begin(there ? std::string(it->second.data(), it->second.size()) : "");
    if (there) it->second = grpc::string_ref(traceparent_);
  }
  Watched call_;
  std::string traceparent_;  // exists as long as the call's metadata
};

// gRPC takes ownership of the pointers that the factories return.

class ClientFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit ClientFactory(CallMetrics* metrics) : metrics_(metrics) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override {
    return std::make_unique<ClientWatch>(info->method(), clock_, metrics_).release();
  }

 private:
  const RealClock clock_;
  CallMetrics* const metrics_;
};

class ServerFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ServerFactory(CallMetrics* metrics) : metrics_(metrics) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return std::make_unique<ServerWatch>(info->method(), clock_, metrics_).release();
  }

 private:
  const RealClock clock_;
  CallMetrics* const metrics_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> WatchClient(
    CallMetrics* metrics) {
  return std::make_unique<ClientFactory>(metrics);
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> WatchServer(
    CallMetrics* metrics) {
  return std::make_unique<ServerFactory>(metrics);
}

}  // namespace splitlet::rpc
