#pragma once

/// The images of this node, listed by gc.
/// Threads: List on a strand; it blocks until its deadline at most.
/// Errors:  gRPC codes.
/// Source:  docs/design.md, "The calls".

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}

namespace splitlet::peers {

struct NodeImage {
  std::vector<std::string> digests, tags;
  uint64_t size_bytes = 0;
};

class NodeImages {
 public:
  virtual ~NodeImages() = default;
  /// The largest images first. `limit` 0: all.
  virtual StatusOr<std::vector<NodeImage>> List(uint32_t limit, Deadline deadline) = 0;
};

/// `clock` outlives it.
std::unique_ptr<NodeImages> MakeNodeImages(const Clock& clock, std::shared_ptr<grpc::Channel> gc);

}  // namespace splitlet::peers
