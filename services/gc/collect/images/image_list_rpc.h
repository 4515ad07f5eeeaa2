#pragma once

/// The gRPC service NodeImages: status shows these images on the Node object.
/// Threads: handlers run on gRPC's threads and ask the runtime there.
/// Errors: those of the runtime.
/// Source: docs/design.md, "The calls".

#include <memory>
#include <vector>

#include "libs/cri/cri.h"

namespace grpc {
class Service;
}

namespace splitlet::gc {

/// The `limit` largest images, the largest first; 0: all images.
std::vector<cri::Image> LargestImages(std::vector<cri::Image> images, size_t limit);

/// `clock` and `images` must outlive the result.
std::unique_ptr<grpc::Service> ServeNodeImages(const Clock& clock, cri::Images& images);

}  // namespace splitlet::gc
