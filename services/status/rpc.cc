#include "services/status/rpc.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/rpc/rpc.h"
#include "services/status/status_service.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::status {
namespace {

constexpr Duration kLoopLimit = std::chrono::seconds{2};
constexpr int kMaxEventsPerCall = 1000;

/// Answer of a handler without data.
struct Done {};

class StatusRpc final : public v1::Status::Service {
 public:
  StatusRpc(exec::EventLoop& loop, StatusService& service) : loop_(loop), service_(service) {}

  grpc::Status GetPodStatus(grpc::ServerContext*, const v1::GetPodStatusRequest* request,
                            v1::PodStatusRecord* reply) override {
    auto record = rpc::OnLoop<std::unique_ptr<v1::PodStatusRecord>>(
        loop_, kLoopLimit, [this, uid = request->uid()] { return service_.GetPodStatus(uid); });
    if (!record.ok()) return rpc::ToGrpc(record.status());
    reply->Swap(record->get());
    return grpc::Status::OK;
  }

  grpc::Status Flush(grpc::ServerContext*, const v1::FlushRequest*, v1::FlushReply*) override {
    const auto done = rpc::OnLoop<Done>(loop_, kLoopLimit, [this]() -> StatusOr<Done> {
      service_.Flush();
      return Done{};
    });
    return rpc::ToGrpc(done.status());
  }

  grpc::Status RecordEvent(grpc::ServerContext*, const v1::RecordEventRequest* request,
                           v1::RecordEventReply*) override {
    if (request->events_size() > kMaxEventsPerCall)
      return rpc::ToGrpc(ResourceExhausted("{} events in one call, at most {} are accepted",
                                           request->events_size(), kMaxEventsPerCall));
    std::vector<v1::EventRecord> events(request->events().begin(), request->events().end());
    const auto done = rpc::OnLoop<Done>(
        loop_, kLoopLimit, [this, events = std::move(events)]() mutable -> StatusOr<Done> {
          service_.OnEvents(std::move(events));
          return Done{};
        });
    return rpc::ToGrpc(done.status());
  }

  grpc::Status ListEvents(grpc::ServerContext*, const v1::ListEventsRequest* request,
                          v1::ListEventsReply* reply) override {
    auto events = rpc::OnLoop<std::vector<v1::EventRecord>>(
        loop_, kLoopLimit,
        [this, uid = request->uid()]() -> StatusOr<std::vector<v1::EventRecord>> {
          return service_.ListEvents(uid);
        });
    if (!events.ok()) return rpc::ToGrpc(events.status());
    for (auto& event : *events) reply->add_events()->Swap(&event);
    return grpc::Status::OK;
  }

 private:
  exec::EventLoop& loop_;
  StatusService& service_;
};

class Process final : public daemon::Service {
 public:
  Process(exec::EventLoop& loop, std::unique_ptr<StatusService> service)
      : service_(std::move(service)), rpc_(loop, *service_) {}
  void Start() override { service_->Start(); }
  daemon::Health GetHealth() const override { return service_->GetHealth(); }
  std::vector<std::string> Notes() const override { return service_->Notes(); }
  void BeginStop() override { service_->BeginStop(); }
  std::vector<grpc::Service*> GrpcServices() override { return {&rpc_}; }

 private:
  std::unique_ptr<StatusService> service_;
  StatusRpc rpc_;
};

}  // namespace

std::unique_ptr<daemon::Service> ServeStatus(exec::EventLoop& loop,
                                             std::unique_ptr<StatusService> service) {
  return std::make_unique<Process>(loop, std::move(service));
}

}  // namespace splitlet::status
