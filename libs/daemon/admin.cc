#include "libs/daemon/admin.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/log_level.h"
#include "libs/base/text.h"
#include "libs/daemon/owned_fail_points.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::daemon {
namespace {

/// The process's own fail points, and every point with a term.
void FillFaults(const std::string& process, v1::FaultList& list) {
  for (const FailPoints::Info& info : FailPoints::Current().List()) {
    if (!OwnsFailPoint(process, info.name) && info.term == "off") continue;
    v1::Fault& fault = *list.add_faults();
    fault.set_name(info.name);
    fault.set_term(info.term);
    fault.set_hits(info.hits);
  }
}

Status SetFault(const std::string& name, const std::string& term) {
  if (term == "off") {
    FailPoints::Current().Clear(name);
    return OkStatus();
  }
  return FailPoints::Current().Set(name, term);
}

class AdminService final : public v1::Admin::Service {
 public:
  AdminService(std::string process, AdminCalls calls)
      : process_(std::move(process)), calls_(std::move(calls)) {}

  grpc::Status GetProcess(grpc::ServerContext*, const v1::GetProcessRequest*,
                          v1::ProcessInfo* reply) override {
    calls_.fill(*reply);
    return grpc::Status::OK;
  }
  grpc::Status ListFaults(grpc::ServerContext*, const v1::ListFaultsRequest*,
                          v1::FaultList* reply) override {
    FillFaults(process_, *reply);
    return grpc::Status::OK;
  }
  grpc::Status SetFault(grpc::ServerContext*, const v1::SetFaultRequest* request,
                        v1::FaultList* reply) override {
    const Status set = daemon::SetFault(request->name(), request->term());
    FillFaults(process_, *reply);
    return rpc::ToGrpc(set);
  }

  grpc::Status DiscardRecord(grpc::ServerContext*, const v1::DiscardRecordRequest* request,
                             v1::DiscardRecordReply* reply) override {
    if (request->uid().empty())
      return {grpc::StatusCode::INVALID_ARGUMENT, "uid: must not be empty"};
    const auto paths = calls_.discard(request->uid());
    if (!paths.ok()) return rpc::ToGrpc(paths.status());
    for (const auto& path : *paths) reply->add_kept_aside(ToText(path));
    return grpc::Status::OK;
  }

  grpc::Status SetLogLevel(grpc::ServerContext*, const v1::SetLogLevelRequest* request,
                           v1::SetLogLevelReply* reply) override {
    const auto level = LevelOf(request->level());
    if (!level)
      return {grpc::StatusCode::INVALID_ARGUMENT, "level: want debug, info, warn or error"};
    reply->set_before(std::string(NameOf(calls_.set_log_level(*level))));
    return grpc::Status::OK;
  }

 private:
  std::string process_;
  AdminCalls calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(std::string process, AdminCalls calls) {
  return std::make_unique<AdminService>(std::move(process), std::move(calls));
}

}  // namespace splitlet::daemon
