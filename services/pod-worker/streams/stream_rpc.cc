#include "services/pod-worker/streams/stream_rpc.h"

#include <atomic>
#include <utility>

#include "libs/rpc/rpc.h"
#include "services/pod-worker/streams/stream_opener.h"
#include "splitlet/v1/streams.grpc.pb.h"

namespace splitlet::pod_worker {
namespace {

constexpr Duration kLimit = 20s;

class StreamRpc final : public v1::PodStreams::Service {
 public:
  explicit StreamRpc(StreamDeps deps)
      : deps_(std::move(deps)), opener_(deps_.reader, deps_.streaming) {}

  grpc::Status OpenStream(grpc::ServerContext*, const v1::OpenStreamRequest* request,
                          v1::OpenStreamReply* reply) override {
    if (++waiting_ > kMaxOpening) {
      --waiting_;
      return rpc::ToGrpc(ResourceExhausted("too many streams are being opened"));
    }
    auto url = rpc::OnLoopLater<std::string>(
        deps_.loop, kLimit,
        [this, asked = *request](auto done) { OpenOnStrand(asked, std::move(done)); });
    --waiting_;
    if (!url.ok()) return rpc::ToGrpc(url.status());
    reply->set_url(*std::move(url));
    return grpc::Status::OK;
  }

 private:
  /// On the loop. Each pod has a strand for streams: what is done for the pod may hang.
  void OpenOnStrand(const v1::OpenStreamRequest& request,
                    std::function<void(StatusOr<std::string>)> done) {
    if (!deps_.has_pod(request.uid()))
      return done(NotFound("there is no pod {} on this node", request.uid()));
    deps_.strands.Run("streams/" + request.uid(), [this, request, done = std::move(done),
                                                   deadline = After(deps_.clock, kLimit)] {
      done(opener_.Open(request, deadline));
    });
  }

  StreamDeps deps_;
  StreamOpener opener_;
  std::atomic<int> waiting_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStreamRpc(StreamDeps deps) {
  return std::make_unique<StreamRpc>(std::move(deps));
}

}  // namespace splitlet::pod_worker
