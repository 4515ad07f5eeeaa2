#pragma once

/// The CSI drivers of this node. A driver serves volumes from its registration on; its registrar
/// is answered when status has recorded the driver in the Node and the CSINode.
/// In:      Validate, Register and DeRegister of the plugin registry; answers of NodeGetInfo; the
///          node's record in `podstatus`.
/// Owns:    the registrations of each driver. The one with the highest version serves; when that
///          one is gone, the next lower one serves again.
/// Out:     NodeGetInfo; on_changed with the drivers for the record of the node; the answers.
/// Killed:  at any line: the next start finds the sockets and registers the drivers again, under
///          later numbers.
/// Threads: the loop's. No registration holds a thread, however long it waits.
/// Errors:  INVALID_ARGUMENT: version, name or endpoint (driver_rules.h). UNAVAILABLE: status could
///          not record the driver. NodeGetInfo's, unchanged.
/// Source:  kubelet csi_plugin RegisterPlugin and DeRegisterPlugin; docs/behaviour/csi-drivers.md.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/bus/typed.h"
#include "libs/csi/driver_calls.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/plugins/plugin_handler.h"
#include "libs/plugins/supported_versions.h"
#include "services/pod-worker/drivers/limit_timers.h"

namespace splitlet::v1 {
class PodStatusRecord;
class WorkerNode;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class DriverRegistry final : public plugins::PluginHandler {
 public:
  /// Of NodeGetInfo.
  static constexpr Duration kInfoLimit = std::chrono::minutes{2};
  /// After this time the drivers of an earlier start have registered again, or are gone: longer
  /// than one attempt with kInfoLimit, and than a plugin that is slow to start.
  static constexpr Duration kSettled = std::chrono::minutes{3};

  using Driver = std::shared_ptr<csi::DriverCalls>;
  struct Deps {
    exec::Env env;
    bus::View<v1::PodStatusRecord>& podstatus;
    /// False: no Node and no CSINode exist, and a driver is registered when it has described the
    /// node.
    bool has_api_server = false;
    /// For the socket of a driver. The result may end on any thread.
    std::function<Driver(const std::string& driver, const std::string& socket_path)> connect;
    std::function<void()> on_changed;  // FillNode
    /// nodeAllocatableUpdatePeriodSeconds of the driver's CSIDriver object.
    std::function<LimitTimers::Period(const std::string& driver)> limit_period =
        [](const std::string&) { return std::nullopt; };
  };
  explicit DriverRegistry(Deps deps);
  DriverRegistry(const DriverRegistry&) = delete;
  DriverRegistry& operator=(const DriverRegistry&) = delete;

  void Start();
  /// Ends the calls and answers no more registrars.
  void BeginStop();
  /// The node's record in `podstatus` has changed.
  void OnNode();
  /// CSIDriver objects have changed.
  void OnLimitPeriods();
  /// Asks the driver for its limit of volumes now: a volume could not be attached because the node
  /// is full. Nothing for a driver that is not registered.
  void RefreshLimit(const std::string& name);

  Status Validate(const plugins::Plugin& plugin) override;
  void Register(const plugins::Plugin& plugin, Done done) override;
  void DeRegister(const plugins::Plugin& plugin, Done done) override;

  /// The driver as it serves now. Ask for each operation, since a later version replaces it; calls
  /// that run already go on. NOT_FOUND with a kubelet's text: it is not registered.
  StatusOr<Driver> Find(const std::string& name) const;
  /// `f` runs on the loop whenever Find has another answer for `driver`. May be called several
  /// times.
  void OnServing(std::function<void(const std::string& driver)> f) {
    on_serving_.push_back(std::move(f));
  }
  /// Replaces the drivers in the record of the node.
  void FillNode(v1::WorkerNode& node) const;

 private:
  enum class State {
    kAskingNodeInfo,
    kWaitingForStatus,
    kRegistered,
  };
  struct Registration {
    int64_t number = 0;  // differs between all registrations of this boot
    plugins::DriverVersion version;
    std::string endpoint;
    Driver calls;
    State state = State::kAskingNodeInfo;
    csi::NodeInfo info = {};  // from kWaitingForStatus on
    Done done;                // until kRegistered
  };
  using Registrations = std::vector<Registration>;  // lowest version first

  static const Registration* Shown(const Registrations& registrations);
  const plugins::DriverVersion* VersionOf(const std::string& name) const;
  Registration* FindRegistration(const std::string& name, int64_t number);
  void OnNodeInfo(const std::string& name, int64_t number,
                  const csi::Answer<csi::NodeInfo>& answer);
  void Accept(Registration& registration);
  void Refuse(const std::string& name, int64_t number, const Status& why);
  void EraseIf(const std::string& name, const std::function<bool(const Registration&)>& gone);
  void OnServingChanged(const std::string& name) const;
  void OnLimit(const std::string& name, int64_t number, const csi::Answer<csi::NodeInfo>& answer);

  const Deps deps_;
  std::map<std::string, Registrations> drivers_;  // by name; none is empty
  int64_t last_number_ = 0;
  bool settled_ = false, stopping_ = false;
  std::vector<std::function<void(const std::string& driver)>> on_serving_;
  LimitTimers limit_timers_;
  std::set<std::string> asking_limit_;               // drivers
  std::map<std::string, std::string> limit_errors_;  // logged, by driver
  const std::shared_ptr<CancelToken> ending_ = std::make_shared<CancelToken>();
  exec::Asker asker_;  // last: its end drops answers
};

}  // namespace splitlet::pod_worker
