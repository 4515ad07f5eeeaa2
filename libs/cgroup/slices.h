#pragma once

/// Cgroups as slices of systemd, for nodes whose runtime uses the systemd driver: a cgroup exists
/// while its unit runs, and systemd keeps its limits over a reload.
/// Threads: any, one call for a slice at a time; calls block until systemd is done, within a limit.
/// Errors:  those of the bus; UNAVAILABLE: no bus; ABORTED: a job ended otherwise than "done".
/// Source:  docs/behaviour/cgroups.md, "Slices"; org.freedesktop.systemd1(5); systemd.slice(5).

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "libs/cgroup/values.h"
#include "libs/dbus/bus.h"

namespace splitlet::cgroup {

class Slices {
 public:
  virtual ~Slices() = default;
  /// Also OK if the slice runs already, even if another program started it.
  virtual Status Start(const std::string& slice, const std::string& parent) = 0;
  /// Requires a running slice. Huge pages are written to files only, because systemd has no
  /// property for them.
  virtual Status Set(const std::string& slice, Version version, const Limits& limits) = 0;
  /// Also stops all units below it. OK if the slice does not exist.
  virtual Status Stop(const std::string& slice) = 0;
};

/// systemd's properties of these limits, as a(sv), in a fixed order. A quota is rounded up to a
/// hundredth of a CPU, systemd's unit.
dbus::Values SliceProperties(Version version, const Limits& limits);

/// Connects at first use, and again after the connection was lost.
class SystemdSlices final : public Slices {
 public:
  /// Limit of one call in all, a kubelet's time for a unit.
  static constexpr Duration kTimeout = std::chrono::seconds{30};
  SystemdSlices(const Clock& clock, dbus::Connect connect, Duration timeout = kTimeout)
      : clock_(clock), connect_(std::move(connect)), timeout_(timeout) {}
  ~SystemdSlices() override;

  Status Start(const std::string& slice, const std::string& parent) override;
  Status Set(const std::string& slice, Version version, const Limits& limits) override;
  Status Stop(const std::string& slice) override;

 private:
  class Link;
  StatusOr<std::shared_ptr<Link>> GetLink(Deadline deadline);
  /// Makes a call that starts a job, and waits for the job's end.
  Status RunJob(const std::string& slice, const dbus::MethodCall& call, Deadline deadline);

  const Clock& clock_;
  const dbus::Connect connect_;
  const Duration timeout_;
  std::mutex mutex_;
  std::shared_ptr<Link> link_;
};

}  // namespace splitlet::cgroup
