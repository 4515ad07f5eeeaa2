#pragma once

/// The supervisor that runs a stack, as far as a person or a chaos run needs it: signals to a
/// service, and taking it down and up. Found out by looking: runit (the local stack), docker
/// compose (compose/.run), systemd (units splitlet-<process>.service), else none, and then only
/// signals work, to the process that listens on the socket.
/// Threads: one; calls block for some seconds at most.
/// Errors: NOT_FOUND for a service that is not supervised, FAILED_PRECONDITION for one that does
/// not run, PERMISSION_DENIED naming the caller and who may, UNIMPLEMENTED for what cannot be done
/// here.

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
  /// 0 when it does not run at the moment.
  virtual StatusOr<pid_t> PidOf(const std::string& service) = 0;
  /// It is to run: one that has just ended is started again. False where that is not known.
  virtual bool IsWanted(const std::string& service) = 0;
  /// Ends it, by SIGTERM, and keeps it down; returns when it is.
  virtual Status TakeDown(const std::string& service) = 0;
  /// Starts it, and again whenever it ends.
  virtual Status BringUp(const std::string& service) = 0;
  /// SIGTERM, then up again.
  virtual Status Restart(const std::string& service) = 0;

  /// To the process itself. FAILED_PRECONDITION when none runs. Returns the id of the process.
  StatusOr<pid_t> Signal(const std::string& service, int signal);
};

/// Programs that query a supervisor; tests replace them.
struct SupervisorPrograms {
  std::string systemctl = "systemctl";
  std::string docker = "docker";
};
std::unique_ptr<Supervisor> FindSupervisor(const Layout& layout,
                                           const SupervisorPrograms& programs = {});

/// Paused by a signal.
bool IsStopped(pid_t pid);

}  // namespace splitlet::operate
