#include "libs/cri/grpc_streaming.h"

#include <grpcpp/grpcpp.h>

#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::cri {
namespace {

namespace v1 = runtime::v1;

/// Without a client a stream is useless.
constexpr Duration kLimit = 15s;

template <class Response>
StatusOr<std::string> UrlOf(const grpc::Status& status, const Response& response) {
  if (!status.ok()) return rpc::FromGrpc(status);
  if (response.url().empty()) return Internal("the runtime returned no URL for the stream");
  return response.url();
}

class GrpcStreaming final : public Streaming {
 public:
  GrpcStreaming(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock)
      : clock_(clock), runtime_(v1::RuntimeService::NewStub(channel)) {}

  StatusOr<std::string> OpenExec(const ContainerId& id, const std::vector<std::string>& command,
                                 const StreamChannels& channels, Deadline deadline) override {
    v1::ExecRequest request;
    request.set_container_id(id.str());
    for (const std::string& word : command) request.add_cmd(word);
    request.set_tty(channels.tty);
    request.set_stdin(channels.in);
    request.set_stdout(channels.out);
    request.set_stderr(channels.err);
    v1::ExecResponse response;
    rpc::ClientCall call(clock_, Bounded(deadline));
    return UrlOf(runtime_->Exec(&call.context(), request, &response), response);
  }

  StatusOr<std::string> OpenAttach(const ContainerId& id, const StreamChannels& channels,
                                   Deadline deadline) override {
    v1::AttachRequest request;
    request.set_container_id(id.str());
    request.set_tty(channels.tty);
    request.set_stdin(channels.in);
    request.set_stdout(channels.out);
    request.set_stderr(channels.err);
    v1::AttachResponse response;
    rpc::ClientCall call(clock_, Bounded(deadline));
    return UrlOf(runtime_->Attach(&call.context(), request, &response), response);
  }

  StatusOr<std::string> OpenPortForward(const SandboxId& id, const std::vector<int32_t>& ports,
                                        Deadline deadline) override {
    v1::PortForwardRequest request;
    request.set_pod_sandbox_id(id.str());
    for (const int32_t port : ports) request.add_port(port);
    v1::PortForwardResponse response;
    rpc::ClientCall call(clock_, Bounded(deadline));
    return UrlOf(runtime_->PortForward(&call.context(), request, &response), response);
  }

 private:
  Deadline Bounded(const Deadline& deadline) const {
    return {std::min(deadline.at, clock_.Now() + kLimit), deadline.cancel};
  }

  const Clock& clock_;
  const std::unique_ptr<v1::RuntimeService::Stub> runtime_;
};

}  // namespace

std::unique_ptr<Streaming> MakeGrpcStreaming(const std::shared_ptr<grpc::Channel>& channel,
                                             const Clock& clock) {
  return std::make_unique<GrpcStreaming>(channel, clock);
}

}  // namespace splitlet::cri
