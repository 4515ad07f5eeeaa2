#pragma once

/// As much of systemd as slices need, by its answers to calls: units that are loaded and run, their
/// properties, and the directories that come and go with them. Behind a FakeDaemon or a real bus.
/// Threads: one at a time.
/// Errors:  those of systemd, by code.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/cgroup/kernel.h"
#include "libs/cgroup/layout.h"
#include "libs/dbus/bus.h"

namespace splitlet::cgroup {

class FakeSystemd {
 public:
  static constexpr const char* kName = "org.freedesktop.systemd1";
  /// `emit` sends a signal to all who listen.
  FakeSystemd(Kernel& kernel, Layout layout, std::function<void(const dbus::Signal&)> emit)
      : kernel_(kernel), layout_(std::move(layout)), emit_(std::move(emit)) {}

  StatusOr<dbus::Values> OnCall(const dbus::MethodCall& call);

  /// What the next calls of this method give; OK: as usual.
  void Fail(const std::string& method, const Status& why) { errors_[method] = why; }
  /// How jobs end from now on; empty: they never do.
  void SetJobResult(const std::string& result) { job_result_ = result; }
  /// Loaded without running, as the parent of something else.
  void Load(const std::string& slice) { units_[slice].loaded = true; }
  bool Runs(const std::string& slice) const;
  std::vector<std::string> Running() const;
  /// "CPUWeight=39", as given last; by name.
  std::map<std::string, dbus::Value> PropertiesOf(const std::string& slice) const;

 private:
  struct Unit {
    bool loaded = false, runs = false;
    std::map<std::string, dbus::Value> properties;
  };
  std::vector<std::string> PathsOf(const std::string& slice) const;
  void StartUnit(const std::string& slice);
  void StopUnit(const std::string& slice);
  dbus::Values EndJob(const std::string& slice);

  Kernel& kernel_;
  const Layout layout_;
  const std::function<void(const dbus::Signal&)> emit_;
  std::map<std::string, Unit> units_;
  std::map<std::string, Status> errors_;
  std::string job_result_ = "done";
  int jobs_ = 0;
};

}  // namespace splitlet::cgroup
