#pragma once

/// The part of systemd that slices need: loaded and running units, their properties, and their
/// directories. It answers the calls of a FakeDaemon or a real bus.
/// Threads: one at a time.
/// Errors:  systemd's, by code.

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
  /// `emit` sends a signal to all subscribers.
  FakeSystemd(Kernel& kernel, Layout layout, std::function<void(const dbus::Signal&)> emit)
      : kernel_(kernel), layout_(std::move(layout)), emit_(std::move(emit)) {}

  StatusOr<dbus::Values> OnCall(const dbus::MethodCall& call);

  /// Result of the next calls of this method; OK: normal.
  void Fail(const std::string& method, const Status& why) { errors_[method] = why; }
  /// Result of jobs from now on; empty: jobs never end.
  void SetJobResult(const std::string& result) { job_result_ = result; }
  /// Loads the slice without running it, like the parent of another unit.
  void Load(const std::string& slice) { units_[slice].loaded = true; }
  bool Runs(const std::string& slice) const;
  std::vector<std::string> Running() const;
  /// the last value set, by name: "CPUWeight=39"
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
