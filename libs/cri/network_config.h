#pragma once

/// The range of addresses of this node's pods, told to a runtime that makes the configuration of
/// their network of it. A role of its own: whoever has it may change how pods reach one another.
/// Threads: any; UpdatePodCidr blocks until its answer or its deadline.
/// Errors:  gRPC codes, unchanged. containerd answers UNKNOWN: no range, or a file that cannot be
///          written; where it has no template for that file, every range is OK.
/// Source:  CRI v1; docs/behaviour/logs-and-metrics.md, "Metrics".

#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
}
namespace prometheus {
class Registry;
}

namespace splitlet::cri {

class NetworkConfig {
 public:
  virtual ~NetworkConfig() = default;
  /// "10.1.0.0/24", or one of each family with a comma between. Again what it was told before is
  /// OK, and changes nothing.
  virtual Status UpdatePodCidr(const std::string& cidr, Deadline deadline) = 0;
  /// False: the connection of the last call is gone, so that the runtime may have started again,
  /// and forgotten what it has in memory alone. Does not block.
  virtual bool Connected() = 0;
};

/// The registry gets kubelet_runtime_operations_*, together with GrpcRuntime. `clock` and it
/// outlive the result.
std::unique_ptr<NetworkConfig> MakeGrpcNetworkConfig(std::shared_ptr<grpc::Channel> channel,
                                                     const Clock& clock,
                                                     prometheus::Registry& registry);

}  // namespace splitlet::cri
