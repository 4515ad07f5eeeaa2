#pragma once

/// Runs the programs of a stack in the foreground, as the service of a kubelet's unit: restarts
/// ended programs, notifies systemd (READY=1, WATCHDOG=1, STOPPING=1), and on TERM or INT ends the
/// programs. Pods belong to the runtime and keep running. A second TERM ends it immediately.
/// Threads: the only one of its process; blocks.
/// Errors:  of the setup; a later error is a line on stderr.
/// Killed:  the kernel sends TERM to each program.

#include <map>
#include <string>
#include <vector>

#include "kubelet/confine.h"
#include "kubelet/node_lock.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::kubelet {

struct SupervisedProgram {
  std::string name;
  std::vector<std::string> argv;
  bool notifies = true;
  bool last = false;  // true: ends after the others
  Confinement confinement = {};
};

struct SuperviseOptions {
  std::string notify_path;  // socket for the programs' notifications
  Duration watchdog = std::chrono::seconds{30};
  Duration patience = std::chrono::seconds{10};  // from TERM to KILL
  NodeLock* lock = nullptr;  // contention of this lock ends the stack like TERM; null: no lock
};

/// Returns after TERM, INT or contention of the lock.
Status Supervise(const Clock& clock, const std::vector<SupervisedProgram>& programs,
                 const SuperviseOptions& options);

}  // namespace splitlet::kubelet
