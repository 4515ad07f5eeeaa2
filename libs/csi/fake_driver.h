#pragma once

/// A driver in memory, for tests: its node service with the state that a real one has, scripted
/// faults, and records of its requests. fake_driver_server.h serves it on a socket.
/// Threads: any.
/// Errors: those of the faults; FAILED_PRECONDITION and the like as CSI has them.
/// Source: CSI, Node Service RPC.

#include <google/protobuf/message.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/csi/capabilities.h"
#include "libs/csi/node_info.h"
#include "libs/csi/volume_stats.h"

namespace csi::v1 {
class NodeExpandVolumeRequest;
class NodePublishVolumeRequest;
class NodeStageVolumeRequest;
}  // namespace csi::v1

namespace splitlet::csi {

/// The answers of the driver about itself.
struct FakeDriverTraits {
  std::string name = "fake.csi.splitlet.dev";
  std::string version = "1.0.0";
  NodeInfo node{.node_id = "node-1"};
  NodeCapabilities capabilities;
  VolumeStats stats;
};

/// A scripted end of calls. The first fault that matches a call has its effect.
struct FakeFault {
  enum class Kind {
    kFail,  // the call has no effect
    kLose,  // the call has its effect, and its caller gets the error
    kHang,  // the call has no answer until ClearFaults, or until its caller goes
  };
  std::string method;  // "NodeStageVolume"; empty: every method
  Kind kind = Kind::kFail;
  Status error = Internal("as scripted");
  int times = -1;  // -1: without end
};

class FakeDriver {
 public:
  /// Effects on files, in place of mounts; each may be empty.
  struct Effects {
    std::function<Status(const v1::NodePublishVolumeRequest&)> publish;
    std::function<Status(const std::string& target_path)> unpublish;
    std::function<void()> changed;  // after a call, before its answer
  };
  explicit FakeDriver(FakeDriverTraits traits, Effects effects = {})
      : traits_(std::move(traits)), effects_(std::move(effects)) {}

  FakeDriverTraits Traits() const;
  void SetTraits(FakeDriverTraits traits);

  void AddFault(FakeFault fault);
  /// Hanging calls go on.
  void ClearFaults();
  size_t Hanging() const;

  /// Number of calls of a method, and each request in order.
  size_t Calls(const std::string& method) const;
  std::vector<std::string> RequestTexts(const std::string& method) const;  // without secrets
  template <class Request>
  std::vector<Request> Requests() const {
    std::vector<Request> all;
    const std::lock_guard lock(mutex_);
    for (const auto& record : records_)
      if (const auto* one = dynamic_cast<const Request*>(record.request.get())) all.push_back(*one);
    return all;
  }

  /// By handle: the staging path.
  std::map<std::string, std::string> Staged() const;
  /// By target path: the handle.
  std::map<std::string, std::string> Published() const;
  std::map<std::string, int64_t> Sizes() const;
  /// After a restart: what an earlier driver had done.
  void Restore(std::map<std::string, std::string> staged,
               std::map<std::string, std::string> published);
  /// Calls that an agent must never make, in words.
  std::vector<std::string> Violations() const;

  /// A call of the service: records it, applies faults, has its effect. `gone` is asked while the
  /// call hangs.
  Status Call(const std::string& method, const google::protobuf::Message& request,
              const std::function<bool()>& gone);

 private:
  struct Record {
    std::string method;
    std::unique_ptr<google::protobuf::Message> request;
  };
  std::optional<FakeFault> TakeFault(const std::string& method);
  Status Hang(std::unique_lock<std::mutex>& lock, const std::function<bool()>& gone);
  Status Effect(const google::protobuf::Message& request);
  Status Stage(const v1::NodeStageVolumeRequest& request);
  Status Unstage(const std::string& handle, const std::string& path);
  Status Publish(const v1::NodePublishVolumeRequest& request);
  Status Unpublish(const std::string& handle, const std::string& path);
  Status Expand(const v1::NodeExpandVolumeRequest& request);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FakeDriverTraits traits_;
  const Effects effects_;
  std::list<FakeFault> faults_;
  uint64_t cleared_ = 0;  // times that faults were cleared
  size_t hanging_ = 0;
  std::vector<Record> records_;
  std::map<std::string, std::string> staged_, published_;
  std::map<std::string, int64_t> sizes_;
  std::vector<std::string> violations_;
};

}  // namespace splitlet::csi
