#include "services/pleg/rpc.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/text.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/rpc/rpc.h"
#include "services/pleg/pleg_service.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::pleg {
namespace {

constexpr size_t kMaxUidBytes = 253;
constexpr Duration kLoopLimit = std::chrono::seconds{2};

// A pod that cannot be inspected is unknown, whatever code the runtime returned.
grpc::Status Unknown(const Status& status) {
  return rpc::ToGrpc(status.code() == StatusCode::kResourceExhausted ? status
                                                                     : Unavailable("{}", status));
}

class PlegRpc final : public v1::Pleg::Service {
 public:
  PlegRpc(exec::EventLoop& loop, PlegService& service) : loop_(loop), service_(service) {}

  grpc::Status GetPodStatus(grpc::ServerContext*, const v1::GetRuntimePodRequest* request,
                            v1::RuntimeRecord* reply) override {
    using Record = std::shared_ptr<const v1::RuntimeRecord>;
    // Unmanaged pods may have UIDs of any form.
    if (request->uid().empty() || request->uid().size() > kMaxUidBytes || !IsText(request->uid()))
      return {grpc::StatusCode::INVALID_ARGUMENT, "uid: must be text, and not empty"};
    // The call may wait for an inspection that is in flight already.
    const Duration limit = 2 * service_.config().inspect_timeout + kLoopLimit;
    const auto record = rpc::OnLoopLater<Record>(
        loop_, limit,
        [this, uid = request->uid()](auto done) { service_.OnGetPodStatus(uid, std::move(done)); });
    if (!record.ok()) return Unknown(record.status());
    *reply = **record;
    return grpc::Status::OK;
  }

  grpc::Status Relist(grpc::ServerContext*, const v1::RelistRequest*,
                      v1::RelistReply* reply) override {
    const Duration limit = service_.config().request_timeout + service_.config().inspect_timeout;
    const auto began = rpc::OnLoopLater<Clock::Time>(
        loop_, limit, [this](auto done) { service_.OnRelist(std::move(done)); });
    if (!began.ok()) return Unknown(began.status());
    reply->mutable_listed_at()->set_boot(began->boot);
    reply->mutable_listed_at()->set_monotonic_ns(began->monotonic.count());
    return grpc::Status::OK;
  }

  grpc::Status GetHealth(grpc::ServerContext*, const v1::PlegHealthRequest*,
                         v1::PlegHealth* reply) override {
    using Health = std::shared_ptr<v1::PlegHealth>;
    const auto health = rpc::OnLoop<Health>(loop_, kLoopLimit, [this] {
      return std::make_shared<v1::PlegHealth>(service_.GetPlegHealth());
    });
    if (!health.ok()) return rpc::ToGrpc(health.status());
    *reply = **health;
    return grpc::Status::OK;
  }

 private:
  exec::EventLoop& loop_;
  PlegService& service_;
};

class Process final : public daemon::Service {
 public:
  Process(exec::EventLoop& loop, std::unique_ptr<cri::GrpcRuntime> reader,
          std::unique_ptr<PlegService> service)
      : reader_(std::move(reader)), service_(std::move(service)), rpc_(loop, *service_) {}
  void Start() override { service_->Start(); }
  void BeginStop() override { reader_->GiveUp(); }
  daemon::Health GetHealth() const override { return service_->GetHealth(); }
  std::vector<grpc::Service*> GrpcServices() override { return {&rpc_}; }

 private:
  std::unique_ptr<cri::GrpcRuntime> reader_;
  std::unique_ptr<PlegService> service_;
  PlegRpc rpc_;
};

}  // namespace

std::unique_ptr<daemon::Service> ServePleg(exec::EventLoop& loop,
                                           std::unique_ptr<cri::GrpcRuntime> reader,
                                           std::unique_ptr<PlegService> service) {
  return std::make_unique<Process>(loop, std::move(reader), std::move(service));
}

}  // namespace splitlet::pleg
