#pragma once

/// Runs the programs of a stack in the foreground, as the service of a kubelet's unit: starts again
/// what dies, tells the supervisor above (READY=1, WATCHDOG=1, STOPPING=1), and on TERM or INT ends
/// the programs and nothing else; pods are the runtime's and go on. A second TERM ends it at once.
/// Threads: the only one of its process; blocks.
/// Errors:  what cannot be set up; what goes wrong later is a line on stderr.
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
  bool last = false;  // ended when the others have
  Confinement confinement = {};
};

struct SuperviseOptions {
  std::string notify_path;  // of the socket that the programs speak to
  Duration watchdog = std::chrono::seconds{30};
  Duration patience = std::chrono::seconds{10};  // from TERM to KILL
  NodeLock* lock = nullptr;  // once it is contended all ends as if told to; null: it has none
};

/// Until it is told to end.
Status Supervise(const Clock& clock, const std::vector<SupervisedProgram>& programs,
                 const SuperviseOptions& options);

}  // namespace splitlet::kubelet
