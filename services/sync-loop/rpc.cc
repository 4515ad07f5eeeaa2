#include "services/sync-loop/rpc.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/rpc/rpc.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::sync_loop {
namespace {

constexpr Duration kLoopLimit = 5s;

class SyncLoopRpc final : public v1::SyncLoop::Service {
 public:
  SyncLoopRpc(exec::EventLoop& loop, SyncLoopService& service) : loop_(loop), service_(service) {}

  grpc::Status GetState(grpc::ServerContext*, const v1::GetLoopStateRequest*,
                        v1::LoopState* reply) override {
    const auto view = rpc::OnLoop<LoopView>(
        loop_, kLoopLimit, [this]() -> StatusOr<LoopView> { return service_.GetState(); });
    if (!view.ok()) return rpc::ToGrpc(view.status());
    reply->set_admitted(static_cast<uint32_t>(view->admitted));
    reply->set_rejected(static_cast<uint32_t>(view->rejected));
    reply->set_waiting(static_cast<uint32_t>(view->waiting));
    reply->set_waiting_reason(view->waiting_reason);
    for (const auto& uid : view->orphans) reply->add_orphans(uid);
    for (const auto& uid : view->unmanaged) reply->add_unmanaged(uid);
    return grpc::Status::OK;
  }

  grpc::Status Resync(grpc::ServerContext*, const v1::ResyncRequest*, v1::ResyncReply*) override {
    const auto done = rpc::OnLoop<bool>(loop_, kLoopLimit, [this]() -> StatusOr<bool> {
      service_.OnResync();
      return true;
    });
    return rpc::ToGrpc(done.status());
  }

 private:
  exec::EventLoop& loop_;
  SyncLoopService& service_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSyncLoopRpc(exec::EventLoop& loop, SyncLoopService& service) {
  return std::make_unique<SyncLoopRpc>(loop, service);
}

}  // namespace splitlet::sync_loop
