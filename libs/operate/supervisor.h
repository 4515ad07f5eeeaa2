#pragma once

/// The supervisor of a stack, for people and chaos runs: signals to a service, stop and start. It
/// detects runit (the local stack), docker compose (compose/.run) and systemd (units
/// splitlet-<process>.service). Without a supervisor only signals work, to the listener of the
/// socket.
/// Threads: one; calls block for some seconds at most.
/// Errors: NOT_FOUND: no such service; FAILED_PRECONDITION: the service does not run;
/// PERMISSION_DENIED naming the caller and permitted users; UNIMPLEMENTED: impossible with this
/// supervisor.

#include <sys/types.h>

#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/operate/layout.h"

namespace splitlet::operate {

class Supervisor {
 public:
  virtual ~Supervisor() = default;
  virtual std::string Name() const = 0;  // "runit"
  /// 0 if the service does not run now.
  virtual StatusOr<pid_t> PidOf(const std::string& service) = 0;
  /// True if the supervisor restarts the service when it ends. False if this is unknown.
  virtual bool IsWanted(const std::string& service) = 0;
  /// Stops the service by SIGTERM and keeps it down; returns when it has ended.
  virtual Status TakeDown(const std::string& service) = 0;
  /// Starts the service, and restarts it whenever it ends.
  virtual Status BringUp(const std::string& service) = 0;
  /// Sends SIGTERM, then starts the service again.
  virtual Status Restart(const std::string& service) = 0;

  /// Signals the process of the service. FAILED_PRECONDITION: the service does not run. Returns its
  /// pid.
  StatusOr<pid_t> Signal(const std::string& service, int signal);
};

/// Programs that query a supervisor; tests replace them.
struct SupervisorPrograms {
  std::string systemctl = "systemctl";
  std::string docker = "docker";
};
std::unique_ptr<Supervisor> FindSupervisor(const Layout& layout,
                                           const SupervisorPrograms& programs = {});

/// True if a signal has paused the process.
bool IsStopped(pid_t pid);

}  // namespace splitlet::operate
