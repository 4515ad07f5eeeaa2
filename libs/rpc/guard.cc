#include "libs/rpc/guard.h"

#include <google/protobuf/descriptor.h>
#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "libs/rpc/call_limits.h"
#include "libs/rpc/peer.h"
#include "libs/rpc/rpc.h"

namespace splitlet::rpc {
namespace {

using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

/// Exposes the handlers of another service: gRPC shows them to services only.
struct HandlerOf : grpc::Service {
  static MethodHandler* Get(grpc::Service& service, int index) {
    return (service.*&HandlerOf::GetHandler)(index);
  }
};

Peer PeerOfCall(grpc_call* call) {
  char* const name = grpc_call_get_peer(call);
  const Peer peer = PeerOfName(name);
  gpr_free(name);
  return peer;
}

/// A refused request is not decoded; the inner handler answers with its error. gRPC runs each
/// deserialized call, so the ticket kept in between is always taken.
class GuardedHandler final : public MethodHandler {
 public:
  GuardedHandler(MethodHandler& inner, std::string method, const MayCall& may_call,
                 CallLimits& limits)
      : inner_(inner), method_(std::move(method)), may_call_(may_call), limits_(limits) {}

  void RunHandler(const HandlerParameter& param) override {
    const auto ticket = Take(param.call->call());
    if (ticket != nullptr) ticket->Runs(*param.server_context);
    inner_.RunHandler(param);
  }

  void* Deserialize(grpc_call* call, grpc_byte_buffer* request, grpc::Status* status,
                    void** data) override {
    auto ticket = Admit(PeerOfCall(call), request);
    if (ticket.ok()) {
      Keep(call, *std::move(ticket));
      return inner_.Deserialize(call, request, status, data);
    }
    if (request != nullptr) grpc_byte_buffer_destroy(request);
    *status = ToGrpc(ticket.status());
    return nullptr;
  }

 private:
  StatusOr<std::unique_ptr<CallLimits::Ticket>> Admit(const Peer& peer, grpc_byte_buffer* request) {
    if (!may_call_(method_, peer.uid))
      return PermissionDenied("user {} may not call {}", peer.uid, method_);
    return limits_.Admit(method_, peer, request == nullptr ? 0 : grpc_byte_buffer_length(request));
  }

  void Keep(grpc_call* call, std::unique_ptr<CallLimits::Ticket> ticket) {
    const std::lock_guard lock(mutex_);
    admitted_[call] = std::move(ticket);
  }
  std::unique_ptr<CallLimits::Ticket> Take(grpc_call* call) {
    const std::lock_guard lock(mutex_);
    auto kept = admitted_.extract(call);
    return kept.empty() ? nullptr : std::move(kept.mapped());
  }

  MethodHandler& inner_;
  const std::string method_;
  const MayCall& may_call_;
  CallLimits& limits_;
  std::mutex mutex_;
  std::map<grpc_call*, std::unique_ptr<CallLimits::Ticket>> admitted_;
};

class GuardedService final : public grpc::Service {
 public:
  GuardedService(MayCall may_call, CallLimits& limits)
      : may_call_(std::move(may_call)), limits_(limits) {}

  void Add(const google::protobuf::MethodDescriptor& method, MethodHandler& inner) {
    const std::string name = method.service()->full_name() + "/" + method.name();
    paths_.push_back(std::make_unique<std::string>("/" + name));
    auto handler = std::make_unique<GuardedHandler>(inner, name, may_call_, limits_);
    const auto type =
        method.server_streaming() ? RpcMethod::SERVER_STREAMING : RpcMethod::NORMAL_RPC;
    // gRPC takes ownership of both pointers and keeps the path without a copy.
    auto added =
        std::make_unique<RpcServiceMethod>(paths_.back()->c_str(), type, handler.release());
    AddMethod(added.release());
  }

 private:
  const MayCall may_call_;
  CallLimits& limits_;
  std::vector<std::unique_ptr<std::string>> paths_;
};

}  // namespace

StatusOr<std::unique_ptr<grpc::Service>> Guard(grpc::Service& inner, const std::string& full_name,
                                               MayCall may_call, CallLimits& limits) {
  const auto* service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(full_name);
  if (service == nullptr) return InvalidArgument("{} is no service", full_name);
  auto guarded = std::make_unique<GuardedService>(std::move(may_call), limits);
  for (int i = 0; i < service->method_count(); ++i) {
    const auto& method = *service->method(i);
    MethodHandler* const handler = HandlerOf::Get(inner, i);
    if (handler == nullptr || method.client_streaming())
      return InvalidArgument("{} has no blocking handler for one request", method.full_name());
    guarded->Add(method, *handler);
  }
  return std::unique_ptr<grpc::Service>(std::move(guarded));
}

}  // namespace splitlet::rpc
