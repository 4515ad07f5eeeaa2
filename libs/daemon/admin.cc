#include "libs/daemon/admin.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/daemon/own_faults.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::daemon {
namespace {

/// Its own, and what is armed whatever its name.
void FillFaults(const std::string& process, v1::FaultList& list) {
  for (const FailPoints::Info& info : FailPoints::Current().List()) {
    if (!IsOwnFault(process, info.name) && info.term == "off") continue;
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
  AdminService(std::string process, std::function<void(v1::ProcessInfo&)> fill)
      : process_(std::move(process)), fill_(std::move(fill)) {}

  grpc::Status GetProcess(grpc::ServerContext*, const v1::GetProcessRequest*,
                          v1::ProcessInfo* reply) override {
    fill_(*reply);
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

 private:
  std::string process_;
  std::function<void(v1::ProcessInfo&)> fill_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(std::string process,
                                                std::function<void(v1::ProcessInfo&)> fill) {
  return std::make_unique<AdminService>(std::move(process), std::move(fill));
}

}  // namespace splitlet::daemon
