#pragma once

/// Sends the address range of this node's pods to a runtime that makes their network configuration
/// from it. A role of its own, because its holder can change how pods reach each other.
/// Threads: any; UpdatePodCidr blocks until its answer or its deadline.
/// Errors:  gRPC codes, unchanged. containerd answers UNKNOWN to a malformed range, or if it cannot
///          write the file; without a template for that file every range is OK.
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
  /// "10.1.0.0/24", or one range of each family, comma-separated. Sending the same range again is
  /// OK and changes nothing.
  virtual Status UpdatePodCidr(const std::string& cidr, Deadline deadline) = 0;
  /// False: the connection of the last call is gone, so the runtime may have restarted and lost the
  /// range. Does not block.
  virtual bool Connected() = 0;
};

/// The registry gets kubelet_runtime_operations_*, shared with GrpcRuntime. `clock` and the
/// registry outlive the result.
std::unique_ptr<NetworkConfig> MakeGrpcNetworkConfig(std::shared_ptr<grpc::Channel> channel,
                                                     const Clock& clock,
                                                     prometheus::Registry& registry);

}  // namespace splitlet::cri
