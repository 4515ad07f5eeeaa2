#include "services/gc/collect/images/image_list_rpc.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/node_images.grpc.pb.h"

namespace splitlet::gc {
namespace {

constexpr Duration kListLimit = std::chrono::seconds{10};

class NodeImagesRpc final : public v1::NodeImages::Service {
 public:
  NodeImagesRpc(const Clock& clock, cri::Images& images) : clock_(clock), images_(images) {}

  grpc::Status ListImages(grpc::ServerContext*, const v1::ListNodeImagesRequest* request,
                          v1::ListNodeImagesReply* reply) override {
    auto listed = images_.ListImages(After(clock_, kListLimit));
    if (!listed.ok()) return rpc::ToGrpc(listed.status());
    for (const auto& image : LargestImages(*std::move(listed), request->limit())) {
      auto& shown = *reply->add_images();
      for (const auto& digest : image.digests) shown.add_digests(digest);
      for (const auto& tag : image.tags) shown.add_tags(tag);
      shown.set_size_bytes(image.size_bytes);
    }
    return grpc::Status::OK;
  }

 private:
  const Clock& clock_;
  cri::Images& images_;
};

}  // namespace

std::vector<cri::Image> LargestImages(std::vector<cri::Image> images, size_t limit) {
  std::ranges::stable_sort(images, std::ranges::greater(), &cri::Image::size_bytes);
  if (limit > 0 && images.size() > limit) images.resize(limit);
  return images;
}

std::unique_ptr<grpc::Service> ServeNodeImages(const Clock& clock, cri::Images& images) {
  return std::make_unique<NodeImagesRpc>(clock, images);
}

}  // namespace splitlet::gc
