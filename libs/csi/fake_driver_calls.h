#pragma once

/// The calls of a FakeDriver without a socket, for tests on virtual time. An answer comes during
/// its Begin, or when the test lets it go.
/// Threads: one.
/// Errors:  those of the faults. Faults of kind kHang would block: Hold takes their place.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/csi/driver_calls.h"
#include "libs/csi/driver_lookup.h"
#include "libs/csi/fake_driver.h"

namespace splitlet::csi {

class FakeDriverCalls final : public DriverCalls {
 public:
  explicit FakeDriverCalls(FakeDriver& driver) : driver_(driver) {}

  /// Answers of this method wait from now on: "NodeStageVolume".
  void Hold(const std::string& method) { held_.insert(method); }
  /// Gives all answers that wait.
  void Release();
  size_t Waiting() const { return waiting_.size(); }

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
  Status Call(const std::string& method, const google::protobuf::Message& request);
  void Give(const std::string& method, std::function<void()> answer);
  void Do(const std::string& method, const google::protobuf::Message& request, Done done);

  FakeDriver& driver_;
  std::set<std::string> held_;
  std::vector<std::function<void()>> waiting_;
};

/// The drivers of a test.
class FakeDrivers final : public DriverLookup {
 public:
  std::map<std::string, std::shared_ptr<DriverCalls>> registered;
  StatusOr<std::shared_ptr<DriverCalls>> Find(const std::string& name) const override {
    const auto found = registered.find(name);
    if (found == registered.end()) return NoDriver(name);
    return found->second;
  }
};

}  // namespace splitlet::csi
