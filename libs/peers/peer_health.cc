#include "libs/peers/peer_health.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::peers {
namespace {

class GrpcPeerHealth final : public PeerHealth {
 public:
  GrpcPeerHealth(const Clock& clock, FindPeer find) : clock_(clock), find_(std::move(find)) {}

  StatusOr<PeerAnswer> Ask(const std::string& process, Deadline deadline) override {
    FAIL_POINT("status.ask.before");
    return process == "pleg" ? AskPleg(deadline) : AskProcess(process, deadline);
  }

 private:
  StatusOr<PeerAnswer> AskPleg(const Deadline& deadline) {
    const auto stub = v1::Pleg::NewStub(find_("pleg"));
    rpc::ClientCall call(clock_, deadline);
    v1::PlegHealth reply;
    RETURN_IF_ERROR(rpc::FromGrpc(stub->GetHealth(&call.context(), {}, &reply)), "GetHealth");
    PeerAnswer answer{.healthy = reply.healthy(), .reason = reply.reason()};
    RuntimeState runtime{.known = reply.conditions_size() > 0,
                         .down = reply.runtime_down(),
                         .pleg_errors = {reply.errors().begin(), reply.errors().end()}};
    for (const auto& condition : reply.conditions())
      runtime.conditions.push_back({.type = condition.type(),
                                    .reason = condition.reason(),
                                    .message = condition.message(),
                                    .status = condition.status()});
    runtime.features = std::move(*reply.mutable_features());
    runtime.name = reply.runtime_name();
    runtime.version = reply.runtime_version();
    answer.runtime = std::move(runtime);
    return answer;
  }

  StatusOr<PeerAnswer> AskProcess(const std::string& process, const Deadline& deadline) {
    const auto stub = v1::Admin::NewStub(find_(process));
    rpc::ClientCall call(clock_, deadline);
    v1::ProcessInfo reply;
    RETURN_IF_ERROR(rpc::FromGrpc(stub->GetProcess(&call.context(), {}, &reply)), "GetProcess");
    return PeerAnswer{.healthy = reply.live(), .reason = reply.reason()};
  }

  const Clock& clock_;
  FindPeer find_;
};

}  // namespace

std::unique_ptr<PeerHealth> MakePeerHealth(const Clock& clock, FindPeer find) {
  return std::make_unique<GrpcPeerHealth>(clock, std::move(find));
}

}  // namespace splitlet::peers
