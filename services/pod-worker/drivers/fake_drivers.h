#pragma once

/// CSI drivers at their sockets, on virtual time: only NodeGetInfo has an answer of its own.
/// Threads: one.
/// Errors:  those that a test sets; UNAVAILABLE: no driver is at the socket.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "libs/csi/driver_calls.h"
#include "libs/exec/fake_exec.h"

namespace splitlet::pod_worker {

class FakeDrivers {
 public:
  struct Behaviour {
    csi::NodeInfo info;
    Status error = OkStatus();  // of NodeGetInfo
    bool hangs = false;         // NodeGetInfo ends at its deadline
    int asked = 0;
  };
  Behaviour& At(const std::string& socket) { return drivers_[socket]; }

  std::shared_ptr<csi::DriverCalls> Connect(const Clock& clock, exec::FakeLoop& loop,
                                            const std::string& socket) {
    return std::make_shared<Calls>(*this, clock, loop, socket);
  }

 private:
  class Calls final : public csi::DriverCalls {
   public:
    Calls(FakeDrivers& drivers, const Clock& clock, exec::FakeLoop& loop, std::string socket)
        : drivers_(drivers), clock_(clock), loop_(loop), socket_(std::move(socket)) {}

    void BeginGetInfo(Deadline deadline, GotInfo done) override {
      const auto it = drivers_.drivers_.find(socket_);
      if (it == drivers_.drivers_.end())
        return done({.status = Unavailable("no driver at {}", socket_)});
      Behaviour& driver = it->second;
      ++driver.asked;
      const Duration takes = driver.hangs ? Remaining(clock_, deadline) : Duration{0};
      csi::Answer<csi::NodeInfo> answer{.status = driver.error, .reply = driver.info};
      if (driver.hangs) answer.status = DeadlineExceeded("Deadline Exceeded");
      loop_.RunAfter(takes, [done = std::move(done), answer] { done(answer); });
    }
    void BeginGetCapabilities(Deadline, GotCapabilities done) override { done({.status = Not()}); }
    void BeginStage(const ::csi::v1::NodeStageVolumeRequest&, Deadline, Done done) override {
      done({.status = Not()});
    }
    void BeginUnstage(const ::csi::v1::NodeUnstageVolumeRequest&, Deadline, Done done) override {
      done({.status = Not()});
    }
    void BeginPublish(const ::csi::v1::NodePublishVolumeRequest&, Deadline, Done done) override {
      done({.status = Not()});
    }
    void BeginUnpublish(const ::csi::v1::NodeUnpublishVolumeRequest&, Deadline,
                        Done done) override {
      done({.status = Not()});
    }
    void BeginExpand(const ::csi::v1::NodeExpandVolumeRequest&, Deadline, Expanded done) override {
      done({.status = Not()});
    }
    void BeginGetStats(const ::csi::v1::NodeGetVolumeStatsRequest&, Deadline,
                       GotStats done) override {
      done({.status = Not()});
    }

   private:
    static Status Not() { return Unimplemented("not built in the fake"); }
    FakeDrivers& drivers_;
    const Clock& clock_;
    exec::FakeLoop& loop_;
    const std::string socket_;
  };

  std::map<std::string, Behaviour> drivers_;
};

}  // namespace splitlet::pod_worker
