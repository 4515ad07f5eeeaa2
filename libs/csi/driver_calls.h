#pragma once

/// The calls to the node service of one driver, begun without waiting, so that none holds a thread:
/// a driver may take two minutes. An implementation is grpc_driver.h; in memory: fake_driver.h.
/// Threads: any; a Begin does not wait. `done` is called once, on any thread, possibly the caller's
/// before Begin returns. It must neither block nor destroy this object.
/// Errors: gRPC codes of the driver. Texts have no values of secrets.
/// Source: CSI, RPC Interface; docs/design.md, "Threads and time".

#include <cstdint>
#include <functional>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/csi/call_errors.h"
#include "libs/csi/capabilities.h"
#include "libs/csi/node_info.h"
#include "libs/csi/volume_stats.h"

namespace csi::v1 {
class NodeExpandVolumeRequest;
class NodeGetVolumeStatsRequest;
class NodePublishVolumeRequest;
class NodeStageVolumeRequest;
class NodeUnpublishVolumeRequest;
class NodeUnstageVolumeRequest;
}  // namespace csi::v1

namespace splitlet::csi {

struct Nothing {
  bool operator==(const Nothing&) const = default;
};

template <class Reply>
struct Answer {
  Status status;
  ErrorClass error_class = ErrorClass::kFinal;  // of an error
  Reply reply = {};                             // of a success
};

class DriverCalls {
 public:
  using Done = std::function<void(Answer<Nothing>)>;
  using GotInfo = std::function<void(Answer<NodeInfo>)>;
  using GotCapabilities = std::function<void(Answer<NodeCapabilities>)>;
  using GotStats = std::function<void(Answer<VolumeStats>)>;
  /// Bytes that the volume has now; 0: the driver does not say.
  using Expanded = std::function<void(Answer<int64_t>)>;

  virtual ~DriverCalls() = default;
  virtual void BeginGetInfo(Deadline deadline, GotInfo done) = 0;
  virtual void BeginGetCapabilities(Deadline deadline, GotCapabilities done) = 0;
  virtual void BeginStage(const v1::NodeStageVolumeRequest& request, Deadline deadline,
                          Done done) = 0;
  virtual void BeginUnstage(const v1::NodeUnstageVolumeRequest& request, Deadline deadline,
                            Done done) = 0;
  virtual void BeginPublish(const v1::NodePublishVolumeRequest& request, Deadline deadline,
                            Done done) = 0;
  virtual void BeginUnpublish(const v1::NodeUnpublishVolumeRequest& request, Deadline deadline,
                              Done done) = 0;
  virtual void BeginExpand(const v1::NodeExpandVolumeRequest& request, Deadline deadline,
                           Expanded done) = 0;
  virtual void BeginGetStats(const v1::NodeGetVolumeStatsRequest& request, Deadline deadline,
                             GotStats done) = 0;
};

}  // namespace splitlet::csi
