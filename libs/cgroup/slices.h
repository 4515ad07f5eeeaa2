#pragma once

/// Cgroups as slices of systemd, for nodes whose runtime places containers by systemd: a cgroup is
/// there because its unit is started, and systemd keeps its limits over a reload.
/// Threads: any, one call for a slice at a time; calls block until systemd is done, at most for the
///          time that is given.
/// Errors:  those of the bus; UNAVAILABLE without one. A job that does not end as "done" is
///          ABORTED.
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
  /// One that runs is OK, whoever started it.
  virtual Status Start(const std::string& slice, const std::string& parent) = 0;
  /// Of one that runs. systemd has no huge pages: they are written to files alone.
  virtual Status Set(const std::string& slice, Version version, const Limits& limits) = 0;
  /// With all units in it; one that is not there is OK.
  virtual Status Stop(const std::string& slice) = 0;
};

/// What systemd calls these limits, as a(sv) carries them; in the order in which they are said.
/// A quota is rounded up to a hundredth of a processor, which is all that systemd knows.
dbus::Values SliceProperties(Version version, const Limits& limits);

/// Connects when first needed, and again when the connection was lost.
class SystemdSlices final : public Slices {
 public:
  /// For one call here, whatever it takes: what a kubelet waits for a unit.
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
  /// A call that gives a job, and the job's end.
  Status RunJob(const std::string& slice, const dbus::MethodCall& call, Deadline deadline);

  const Clock& clock_;
  const dbus::Connect connect_;
  const Duration timeout_;
  std::mutex mutex_;
  std::shared_ptr<Link> link_;
};

}  // namespace splitlet::cgroup
