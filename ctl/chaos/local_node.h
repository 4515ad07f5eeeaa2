#pragma once

/// A local stack (deploy/local, runit) as a node under chaos. What is true is read from the CRI
/// socket, /proc, /sys/fs/cgroup and the disk.
/// Threads: one. Errors: as Node's; Open tells what is missing to do chaos here at all.
/// Source: deploy/local/README.md.

#include <memory>
#include <string>

#include "ctl/chaos/node.h"
#include "ctl/chaos/partition.h"
#include "ctl/chaos/points.h"
#include "ctl/chaos/reboot.h"
#include "ctl/chaos/stranger.h"
#include "ctl/client.h"
#include "ctl/supervisor.h"

namespace splitlet::cri {
class GrpcRuntime;
}

namespace splitlet::chaos {

inline constexpr const char* kNeedsRoot =
    "chaos kills processes and reads the runtime: run it as root";

/// Where things of the stack are; absolute paths.
struct LocalPaths {
  std::string top, manifests, logs, run, state, root, endpoint, node_name;
  std::string work() const { return top + "/chaos"; }
  std::string witnesses() const { return work() + "/witness"; }
  /// Of a private containerd; empty when the runtime is somebody else's.
  std::string containerd() const;
};

class LocalNode final : public Node {
 public:
  static StatusOr<std::unique_ptr<LocalNode>> Open(const ctl::Client& client);
  ~LocalNode() override;

  Status CanDo(const Action& action) override;
  Status PutPod(const PodToRun& pod) override;
  Status RemovePod(const std::string& name) override;
  Status Begin(const Action& action) override;
  Status End(const Action& action) override;
  Status Again(const Action& action) override;
  Snapshot Look() override;
  std::optional<WallTime> EndOf(const std::string& container) override;
  std::string FullName(const std::string& pod) const override;
  std::vector<std::string> Unwell() override;
  std::set<std::string> Things() override;
  Status CleanUp() override;
  std::set<std::string> RemoveForgotten(const std::set<std::string>& things) override;
  std::vector<BusLine> BusBetween(WallTime from, WallTime to) override;

 private:
  LocalNode(const ctl::Client& client, LocalPaths paths);

  // Looking.
  bool Answers(const Snapshot& snapshot, const std::string& process) const;
  void LookAtRuntime(Snapshot& snapshot);
  void LookAtStatus(Snapshot& snapshot);
  void LookAtProcesses(Snapshot& snapshot);
  void LookAtWitnesses(Snapshot& snapshot);

  // Faults, in local_faults.cc.
  Status CanSetPoints(const Action& action);
  Status CanFill(const std::string& folder) const;
  Status SetPoints(const Action& action, bool on);
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
  /// This program once more, on the same stack.
  StatusOr<pid_t> Spawn(const std::vector<std::string>& command) const;
  Status Upgrade(const std::string& process, bool on);
  std::string FolderOf(const std::string& name) const;
  std::string ManifestPath(const std::string& pod) const;

  const ctl::Client& client_;
  const LocalPaths paths_;
  std::unique_ptr<ctl::Supervisor> supervisor_;
  struct Runtime;
  std::unique_ptr<Runtime> runtime_;
  Partition partition_;
  /// Asked once for each container that runs or has ended; nothing: it was not answered.
  struct Start {
    std::optional<WallTime> at;  // nothing: its process never ran
  };
  std::optional<Start> StartOf(const std::string& container);

  Snapshot last_;
  std::set<std::string> ids_;            // sandboxes and containers ever seen
  std::map<std::string, Start> starts_;  // by container
  Points points_;
  std::map<std::string, std::set<std::string>> point_names_;  // by process; empty: not asked yet
  std::map<std::string, std::string> broken_;                 // pod -> its good manifest
  std::map<std::string, std::string> run_scripts_;  // process -> the one before an upgrade
  std::map<std::string, pid_t> hung_;               // pod -> its shim
  std::map<std::string, pid_t> floods_;             // process -> who asks it too much
  std::vector<pid_t> collecting_;                   // who has gc make a round
  std::map<std::string, std::unique_ptr<Stranger>> strangers_;  // process -> who has its port
};

/// What a stack has that must be cleaned up by somebody: see Node::Things. `ids`: of the runtime.
std::set<std::string> ThingsOf(const LocalPaths& paths, const std::set<std::string>& ids);

/// Groups named by sandboxes and containers of these ids, wherever the runtime puts them.
std::vector<std::string> CgroupsOf(const std::set<std::string>& ids);

/// By hand: kills, unmounts, removes.
void RemoveThing(const LocalPaths& paths, const std::string& thing);

/// SIGKILL for it and all that came from it.
void KillTree(pid_t root);

/// Processes whose command line has all of these parts.
std::vector<pid_t> PidsWith(const std::vector<std::string>& parts);

std::string ReadAll(const std::string& path);
Status WriteByRename(const std::string& path, const std::string& content);

}  // namespace splitlet::chaos
