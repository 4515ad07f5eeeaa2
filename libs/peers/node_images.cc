#include "libs/peers/node_images.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/node_images.grpc.pb.h"

namespace splitlet::peers {
namespace {

class GrpcNodeImages final : public NodeImages {
 public:
  GrpcNodeImages(const Clock& clock, std::shared_ptr<grpc::Channel> gc)
      : clock_(clock), stub_(v1::NodeImages::NewStub(std::move(gc))) {}

  StatusOr<std::vector<NodeImage>> List(uint32_t limit, Deadline deadline) override {
    FAIL_POINT("status.list-images.before");
    rpc::ClientCall call(clock_, deadline);
    v1::ListNodeImagesRequest request;
    request.set_limit(limit);
    v1::ListNodeImagesReply reply;
    RETURN_IF_ERROR(rpc::FromGrpc(stub_->ListImages(&call.context(), request, &reply)),
                    "ListImages");
    std::vector<NodeImage> images;
    for (const auto& image : reply.images())
      images.push_back({.digests = {image.digests().begin(), image.digests().end()},
                        .tags = {image.tags().begin(), image.tags().end()},
                        .size_bytes = image.size_bytes()});
    return images;
  }

 private:
  const Clock& clock_;
  std::unique_ptr<v1::NodeImages::Stub> stub_;
};

}  // namespace

std::unique_ptr<NodeImages> MakeNodeImages(const Clock& clock, std::shared_ptr<grpc::Channel> gc) {
  return std::make_unique<GrpcNodeImages>(clock, std::move(gc));
}

}  // namespace splitlet::peers
