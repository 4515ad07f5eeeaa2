#pragma once

/// The gRPC service NodeImages: what status shows of the images of this node.
/// Threads: handlers run on gRPC's threads and ask the runtime there.
/// Errors: those of the runtime's answer.
/// Source: docs/design.md, "The calls".

#include <memory>
#include <vector>

#include "libs/cri/cri.h"

namespace grpc {
class Service;
}

namespace splitlet::gc {

/// `limit` of them, the largest first; 0: all.
std::vector<cri::Image> LargestImages(std::vector<cri::Image> images, size_t limit);

/// Both outlive it.
std::unique_ptr<grpc::Service> ServeNodeImages(const Clock& clock, cri::Images& images);

}  // namespace splitlet::gc
