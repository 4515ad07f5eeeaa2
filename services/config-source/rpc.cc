#include "services/config-source/rpc.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/text.h"
#include "libs/peers/desired_owner.h"
#include "libs/rpc/rpc.h"
#include "services/config-source/config_source_service.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::config_source {
namespace {

constexpr Duration kLoopLimit = std::chrono::seconds{2};

v1::Source ToProto(const SourceView& view) {
  v1::Source out;
  out.set_name(view.name);
  out.set_path(ToText(view.place));
  out.set_complete(view.complete);
  out.set_reason(ToText(view.reason));
  out.set_pods(static_cast<uint32_t>(view.pods));
  for (const Problem& problem : view.problems) {
    auto& to = *out.add_problems();
    to.set_where(ToText(problem.where));
    to.set_reason(ToText(problem.reason));
    to.set_since_wall_ns(ToNanos(problem.since));
  }
  return out;
}

class ConfigSourceRpc final : public v1::ConfigSource::Service {
 public:
  ConfigSourceRpc(exec::EventLoop& loop, ConfigSourceService& service)
      : loop_(loop), service_(service) {}

  grpc::Status GetSources(grpc::ServerContext*, const v1::GetSourcesRequest*,
                          v1::Sources* reply) override {
    const auto views = rpc::OnLoop<std::vector<SourceView>>(
        loop_, kLoopLimit, [this] { return service_.GetSources(); });
    if (!views.ok()) return rpc::ToGrpc(views.status());
    for (const auto& view : *views) *reply->add_sources() = ToProto(view);
    return grpc::Status::OK;
  }

  grpc::Status GetPod(grpc::ServerContext* context, const v1::GetDesiredRequest* request,
                      v1::GetDesiredReply* reply) override {
    const auto& metadata = context->client_metadata();
    const auto named = metadata.find(grpc::string_ref(peers::kSourceMetadata.data()));
    const std::string source =
        named == metadata.end() ? "" : std::string(named->second.data(), named->second.size());
    auto record = rpc::OnLoop<std::unique_ptr<v1::DesiredRecord>>(
        loop_, kLoopLimit,
        [this, uid = request->uid(), source] { return service_.GetPod(uid, source); });
    if (!record.ok()) return rpc::ToGrpc(record.status());
    reply->set_known(*record != nullptr);
    if (*record != nullptr) reply->mutable_record()->Swap(record->get());
    return grpc::Status::OK;
  }

 private:
  exec::EventLoop& loop_;
  ConfigSourceService& service_;
};

class Process final : public daemon::Service {
 public:
  Process(exec::EventLoop& loop, std::unique_ptr<ConfigSourceService> service)
      : service_(std::move(service)), rpc_(loop, *service_) {}
  void Start() override { service_->Start(); }
  daemon::Health GetHealth() const override { return service_->GetHealth(); }
  std::vector<std::string> Notes() const override { return service_->Notes(); }
  void DiscardRecord(const std::string& uid, Discarded done) override {
    service_->DiscardRecord(uid, std::move(done));
  }
  std::vector<grpc::Service*> GrpcServices() override { return {&rpc_}; }

 private:
  std::unique_ptr<ConfigSourceService> service_;
  ConfigSourceRpc rpc_;
};

}  // namespace

std::unique_ptr<daemon::Service> ServeConfigSource(exec::EventLoop& loop,
                                                   std::unique_ptr<ConfigSourceService> service) {
  return std::make_unique<Process>(loop, std::move(service));
}

}  // namespace splitlet::config_source
