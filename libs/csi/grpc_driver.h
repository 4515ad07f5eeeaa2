#pragma once

/// A driver over gRPC on its unix socket.
/// In:      Begin...; gRPC's callbacks of each call.
/// Owns:    the channel; the calls under way, each until its answer.
/// Out:     calls of csi.v1.Node. Fail points: csi.<method>.before and .after.
/// Threads: any; `done` and `on_end` run on a thread of gRPC's, or of the caller.
/// Errors:  those of DriverCalls. An error before the request is sent is transient: too many calls
///          (RESOURCE_EXHAUSTED), no driver at the socket (UNAVAILABLE), a socket of another user
///          (PERMISSION_DENIED), a request above 4 MiB (INVALID_ARGUMENT).
/// Source:  CSI, RPC Interface; docs/libraries.md, "gRPC".

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "libs/csi/driver_calls.h"

namespace splitlet::csi {

/// A call that a driver was sent has ended.
struct CallEnd {
  const char* method;  // "/csi.v1.Node/NodeStageVolume"
  StatusCode code = StatusCode::kOk;
  Duration took{0};
};

class GrpcDriver final : public DriverCalls {
 public:
  struct Deps {
    std::string socket_path;
    const Clock& clock;
    Duration call_limit = std::chrono::minutes{2};    // a call ends here or at its deadline
    size_t max_calls = 64;                            // at the same time; more are refused
    std::function<void(const CallEnd&)> on_end = {};  // for metrics; may be empty
  };
  explicit GrpcDriver(Deps deps);
  /// As Stop.
  ~GrpcDriver() override;
  GrpcDriver(const GrpcDriver&) = delete;
  GrpcDriver& operator=(const GrpcDriver&) = delete;
  /// From now on every call is CANCELLED, running ones too.
  void GiveUp();
  /// GiveUp, and waits for the answers of the running calls.
  void Stop();

  void BeginGetInfo(Deadline deadline, GotInfo done) override;
  void BeginGetCapabilities(Deadline deadline, GotCapabilities done) override;
  void BeginStage(const v1::NodeStageVolumeRequest& request, Deadline deadline, Done done) override;
  void BeginUnstage(const v1::NodeUnstageVolumeRequest& request, Deadline deadline,
                    Done done) override;
  void BeginPublish(const v1::NodePublishVolumeRequest& request, Deadline deadline,
                    Done done) override;
  void BeginUnpublish(const v1::NodeUnpublishVolumeRequest& request, Deadline deadline,
                      Done done) override;
  void BeginExpand(const v1::NodeExpandVolumeRequest& request, Deadline deadline,
                   Expanded done) override;
  void BeginGetStats(const v1::NodeGetVolumeStatsRequest& request, Deadline deadline,
                     GotStats done) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace splitlet::csi
