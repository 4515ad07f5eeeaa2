#include "services/gc/rpc.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/cri/grpc_runtime.h"
#include "libs/rpc/rpc.h"
#include "services/gc/collect/images/image_list_rpc.h"
#include "services/gc/gc_service.h"
#include "services/gc/measure/stats/stats_rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::gc {
namespace {

constexpr Duration kLoopLimit = std::chrono::seconds{2};
constexpr Duration kRoundLimit = std::chrono::minutes{3};

v1::GcReport ToProto(const Report& report) {
  v1::GcReport out;
  out.set_dry_run(report.dry_run);
  out.set_at_wall_ns(ToNanos(report.at));
  for (const auto& item : report.items) {
    auto& to = *out.add_items();
    to.set_kind(item.kind);
    to.set_name(item.name);
    to.set_reason(item.reason);
    to.set_bytes(item.bytes);
    to.set_removed(item.removed);
    to.set_error(item.error);
  }
  for (const auto& line : report.kept) out.add_kept(line);
  out.set_error(report.error);
  return out;
}

grpc::Status Answer(const StatusOr<Report>& report, v1::GcReport* reply) {
  if (!report.ok()) return rpc::ToGrpc(report.status());
  *reply = ToProto(*report);
  return grpc::Status::OK;
}

class GcRpc final : public v1::Gc::Service {
 public:
  GcRpc(exec::EventLoop& loop, GcService& service) : loop_(loop), service_(service) {}

  grpc::Status Run(grpc::ServerContext*, const v1::GcRunRequest* request,
                   v1::GcReport* reply) override {
    return Answer(
        rpc::OnLoopLater<Report>(loop_, kRoundLimit,
                                 [this, dry_run = request->dry_run()](GcService::Done done) {
                                   service_.Run(dry_run, std::move(done));
                                 }),
        reply);
  }

  grpc::Status GetReport(grpc::ServerContext*, const v1::GcReportRequest*,
                         v1::GcReport* reply) override {
    return Answer(rpc::OnLoop<Report>(loop_, kLoopLimit, [this] { return service_.GetReport(); }),
                  reply);
  }

 private:
  exec::EventLoop& loop_;
  GcService& service_;
};

class GcProcess final : public daemon::Service {
 public:
  GcProcess(daemon::ServiceContext& context, std::unique_ptr<GcService> service,
            std::shared_ptr<cri::GrpcRuntime> runtime)
      : runtime_(std::move(runtime)),
        service_(std::move(service)),
        rpc_(context.loop(), *service_),
        images_(ServeNodeImages(context.clock(), *runtime_)),
        stats_(MakeStatsRpc(context.loop(), [this](bool details, auto done) {
          service_->GetStats(details, std::move(done));
        })) {}
  void Start() override { service_->Start(); }
  void BeginStop() override { runtime_->GiveUp(); }
  daemon::Health GetHealth() const override { return service_->GetHealth(); }
  std::vector<grpc::Service*> GrpcServices() override {
    return {&rpc_, images_.get(), stats_.get()};
  }

 private:
  std::shared_ptr<cri::GrpcRuntime> runtime_;
  std::unique_ptr<GcService> service_;
  GcRpc rpc_;
  std::unique_ptr<grpc::Service> images_;
  const std::unique_ptr<grpc::Service> stats_;
};

}  // namespace

std::unique_ptr<daemon::Service> ServeGc(daemon::ServiceContext& context,
                                         std::unique_ptr<GcService> service,
                                         std::shared_ptr<cri::GrpcRuntime> runtime) {
  return std::make_unique<GcProcess>(context, std::move(service), std::move(runtime));
}

}  // namespace splitlet::gc
