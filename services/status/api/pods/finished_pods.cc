#include "services/status/api/pods/finished_pods.h"

#include <grpcpp/channel.h>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::status {
namespace {

class GrpcFinishedPods final : public FinishedPods {
 public:
  GrpcFinishedPods(const Clock& clock, const std::shared_ptr<grpc::Channel>& channel)
      : clock_(clock), stub_(v1::PodWorker::NewStub(channel)) {}

  StatusOr<std::map<std::string, int64_t>> List(const Deadline& deadline) override {
    rpc::ClientCall call(clock_, deadline);
    v1::ListWorkersReply reply;
    RETURN_IF_ERROR(rpc::FromGrpc(stub_->ListWorkers(&call.context(), {}, &reply)),
                    "ask pod-worker which pods are finished");
    std::map<std::string, int64_t> finished;
    for (const auto& worker : reply.workers())
      if (worker.state() == v1::FINISHED) finished[worker.uid()] = worker.incarnation();
    return finished;
  }

 private:
  const Clock& clock_;
  std::unique_ptr<v1::PodWorker::Stub> stub_;
};

}  // namespace

std::unique_ptr<FinishedPods> MakeFinishedPods(const Clock& clock,
                                               const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<GrpcFinishedPods>(clock, channel);
}

}  // namespace splitlet::status
