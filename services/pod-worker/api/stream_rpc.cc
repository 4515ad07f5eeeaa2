#include "services/pod-worker/api/stream_rpc.h"

#include <atomic>
#include <utility>

#include "libs/rpc/rpc.h"
#include "libs/rpc/server.h"
#include "services/pod-worker/api/stream_audit.h"
#include "services/pod-worker/api/stream_opener.h"
#include "splitlet/v1/streams.grpc.pb.h"

namespace splitlet::pod_worker {
namespace {

constexpr Duration kStreamLimit = 20s;
constexpr Duration kCommandLimit = 55s;  // within what any call may take here

class StreamRpc final : public v1::PodStreams::Service {
 public:
  explicit StreamRpc(StreamDeps deps)
      : deps_(std::move(deps)), opener_(deps_.reader, deps_.streaming, deps_.exec) {}

  grpc::Status OpenStream(grpc::ServerContext* context, const v1::OpenStreamRequest* request,
                          v1::OpenStreamReply* reply) override {
    deps_.log.Info(kAuditMessage, AuditFields(*request, rpc::PeerOf(*context).uid));
    if (++waiting_ > kMaxOpening) {
      --waiting_;
      return rpc::ToGrpc(ResourceExhausted("too many streams are being opened"));
    }
    auto url = rpc::OnLoopLater<std::string>(
        deps_.loop, kStreamLimit,
        [this, asked = *request](auto done) { OpenOnStrand(asked, std::move(done)); });
    --waiting_;
    if (!url.ok()) return rpc::ToGrpc(url.status());
    reply->set_url(*std::move(url));
    return grpc::Status::OK;
  }

  grpc::Status RunCommand(grpc::ServerContext* context, const v1::RunCommandRequest* request,
                          v1::RunCommandReply* reply) override {
    deps_.log.Info(kAuditMessage, AuditFields(*request, rpc::PeerOf(*context).uid));
    if (++running_ > kMaxCommands) {
      --running_;
      return rpc::ToGrpc(ResourceExhausted("too many commands are run"));
    }
    auto result = rpc::OnLoopLater<v1::RunCommandReply>(
        deps_.loop, kCommandLimit,
        [this, asked = *request](auto done) { RunOnStrand(asked, std::move(done)); });
    --running_;
    if (!result.ok()) return rpc::ToGrpc(result.status());
    reply->Swap(&*result);
    return grpc::Status::OK;
  }

 private:
  /// On the loop. Not the strand of the pod's streams: a command may take its time.
  void RunOnStrand(const v1::RunCommandRequest& request,
                   std::function<void(StatusOr<v1::RunCommandReply>)> done) {
    if (!deps_.has_pod(request.uid()))
      return done(NotFound("there is no pod {} on this node", request.uid()));
    const std::string strand = fmt::format("command/{}", ++last_command_);
    deps_.strands.Run(strand, [this, request, done = std::move(done),
                               deadline = After(deps_.clock, kCommandLimit)] {
      done(opener_.Run(request, deadline));
    });
  }

  /// On the loop. Each pod has a strand for streams: what is done for the pod may hang.
  void OpenOnStrand(const v1::OpenStreamRequest& request,
                    std::function<void(StatusOr<std::string>)> done) {
    if (!deps_.has_pod(request.uid()))
      return done(NotFound("there is no pod {} on this node", request.uid()));
    deps_.strands.Run("streams/" + request.uid(), [this, request, done = std::move(done),
                                                   deadline = After(deps_.clock, kStreamLimit)] {
      done(opener_.Open(request, deadline));
    });
  }

  StreamDeps deps_;
  StreamOpener opener_;
  std::atomic<int> waiting_{0}, running_{0};
  uint64_t last_command_ = 0;  // of the loop
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStreamRpc(StreamDeps deps) {
  return std::make_unique<StreamRpc>(std::move(deps));
}

}  // namespace splitlet::pod_worker
