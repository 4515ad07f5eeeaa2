#pragma once

/// The images that this node has, of whoever may ask the runtime for them.
/// Threads: List on a strand; it blocks until its deadline at most.
/// Errors:  those of the call; the last list that was given stays.

#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/status/api/node_object.h"

namespace splitlet::status {

class ImageLister {
 public:
  virtual ~ImageLister() = default;
  virtual StatusOr<std::vector<NodeImage>> List(Deadline deadline) = 0;
};

}  // namespace splitlet::status
