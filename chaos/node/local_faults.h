#pragma once

/// Injects the faults of a scenario into a local stack: signals, fail points, manifests, ports,
/// disks, packets, and runtime calls behind the agent's back.
/// In: faults from LocalNode, to begin, end and set again; its last snapshot.
/// Owns: what each fault must undo.
/// Threads: one; a call blocks for some seconds at most.
/// Errors: of each fault; CANCELLED from End when a fault never came into force.

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "chaos/node/api_server.h"
#include "chaos/node/fail_points.h"
#include "chaos/node/local_paths.h"
#include "chaos/node/node.h"
#include "chaos/node/partition.h"
#include "chaos/node/port_holder.h"
#include "libs/operate/client.h"
#include "libs/operate/supervisor.h"

namespace splitlet::cri {
class GrpcRuntime;
}

namespace splitlet::chaos {

struct LocalFaultsDeps {
  const operate::Client& client;
  const LocalPaths& paths;
  operate::Supervisor& supervisor;
  cri::GrpcRuntime& runtime;
  ApiServer& server;
  const Snapshot& last;  // the last snapshot with an answer of the runtime
};

class LocalFaults {
 public:
  explicit LocalFaults(const LocalFaultsDeps& deps);

  Status CanDo(const Action& action);
  Status Begin(const Action& action);
  Status End(const Action& action);
  Status Again(const Action& action);
  /// Tries again to set fail points that failed before.
  void RetryFailPoints() { points_.Retry(); }
  /// The manifest was replaced or removed, so End need not repair it.
  void OnManifestReplaced(const std::string& pod) { broken_.erase(pod); }

 private:
  Status CanSetPoints(const Action& action);
  Status CanFill(const std::string& folder) const;
  Status SetPoints(const Action& action, bool on);
  Status Cut(const std::string& target);
  Status EndToRestart(const std::string& process);
  Status Fill(const std::string& folder);
  Status LimitMemory(const Action& action, bool on);
  Status HangPod(const Action& action, bool on);
  Status EndContainer(const std::string& pod);
  Status RemoveContainer(const std::string& pod);
  Status StopNow(const std::string& container);
  Status RemoveNow(const std::string& container);
  Status BreakManifest(const std::string& pod, bool on);
  Status TakePort(const std::string& process, bool on);
  Status ReplaceInScript(const std::string& process, uint16_t from, uint16_t to);
  Status Flood(const std::string& process, bool on);
  Status Collect();
  /// Starts another fault program, or the same one again, on the same stack.
  StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& words) const;
  Status Upgrade(const std::string& process, bool on);
  std::string FolderOf(const std::string& name) const;

  const LocalFaultsDeps deps_;
  Partition partition_;
  FailPoints points_;
  // names of fail points by process; empty: not asked yet
  std::map<std::string, std::set<std::string>> point_names_;
  std::map<std::string, std::string> broken_;       // pod -> its good manifest
  std::map<std::string, std::string> run_scripts_;  // process -> its run script before the upgrade
  std::map<std::string, pid_t> hung_;               // pod -> pid of its paused shim
  std::map<std::string, pid_t> floods_;             // process -> pid of the program that floods it
  std::vector<pid_t> collecting_;                   // programs that asked gc for a round
  // process -> holder of its port
  std::map<std::string, std::unique_ptr<PortHolder>> port_holders_;
};

}  // namespace splitlet::chaos
