#include "libs/trace/grpc_sender.h"

#include <grpcpp/grpcpp.h>

#include "libs/rpc/rpc.h"
#include "libs/trace/otlp.h"
#include "opentelemetry/trace_service.grpc.pb.h"

namespace splitlet::trace {
namespace {

class GrpcSender final : public SpanSender {
 public:
  GrpcSender(const std::string& target, const Clock& clock)
      : clock_(clock), stub_(otlp::TraceService::NewStub(rpc::ConnectEndpoint(target))) {}

  Status Send(const otlp::ExportTraceServiceRequest& request, const Deadline& deadline) override {
    rpc::ClientCall call(clock_, deadline);
    otlp::ExportTraceServiceResponse answer;
    const Status sent = rpc::FromGrpc(stub_->Export(&call.context(), request, &answer));
    return sent.ok() ? CheckAnswer(answer) : sent;
  }

 private:
  const Clock& clock_;
  std::unique_ptr<otlp::TraceService::Stub> stub_;
};

}  // namespace

std::unique_ptr<SpanSender> MakeGrpcSender(const std::string& target, const Clock& clock) {
  return std::make_unique<GrpcSender>(target, clock);
}

}  // namespace splitlet::trace
