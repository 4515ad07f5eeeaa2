#pragma once

/// Asks pod-worker which pods are finished, before their objects are deleted at the API server.
/// Threads: strands; a call blocks up to its deadline.
/// Errors: gRPC codes; no answer means no deletion.
/// Source: docs/safety.md, rules 8 and 20.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}

namespace splitlet::status {

class FinishedPods {
 public:
  virtual ~FinishedPods() = default;
  /// UID -> incarnation of each pod whose worker has finished.
  virtual StatusOr<std::map<std::string, int64_t>> List(const Deadline& deadline) = 0;
};

/// `channel`: to pod-worker. `clock` outlives it.
std::unique_ptr<FinishedPods> MakeFinishedPods(const Clock& clock,
                                               const std::shared_ptr<grpc::Channel>& channel);

}  // namespace splitlet::status
