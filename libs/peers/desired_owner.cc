#include "libs/peers/desired_owner.h"

#include <grpcpp/channel.h>

#include <utility>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::peers {
namespace {

class GrpcDesiredOwner final : public DesiredOwner {
 public:
  GrpcDesiredOwner(const Clock& clock, std::shared_ptr<grpc::Channel> channel)
      : clock_(clock), stub_(v1::ConfigSource::NewStub(std::move(channel))) {}

  StatusOr<bool> Knows(const std::string& uid, const std::string& source,
                       const Deadline& deadline) override {
    v1::GetDesiredReply reply;
    RETURN_IF_ERROR(Ask(uid, source, deadline, reply), "ask config-source for pod {}", uid);
    return reply.known();
  }

  StatusOr<Record> Find(const std::string& uid, const Deadline& deadline) override {
    auto reply = std::make_shared<v1::GetDesiredReply>();
    RETURN_IF_ERROR(Ask(uid, "", deadline, *reply), "ask config-source for pod {}", uid);
    if (!reply->known()) return nullptr;
    return Record(reply, &reply->record());
  }

 private:
  Status Ask(const std::string& uid, const std::string& source, const Deadline& deadline,
             v1::GetDesiredReply& reply) {
    rpc::ClientCall call(clock_, deadline);
    if (!source.empty()) call.context().AddMetadata(std::string(kSourceMetadata), source);
    v1::GetDesiredRequest request;
    request.set_uid(uid);
    return rpc::FromGrpc(stub_->GetPod(&call.context(), request, &reply));
  }

  const Clock& clock_;
  std::unique_ptr<v1::ConfigSource::Stub> stub_;
};

}  // namespace

std::unique_ptr<DesiredOwner> MakeDesiredOwner(const Clock& clock,
                                               std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcDesiredOwner>(clock, std::move(channel));
}

}  // namespace splitlet::peers
