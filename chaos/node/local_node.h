#pragma once

/// A local stack (deploy/local, runit) as a node under chaos. It reads the truth from the CRI
/// socket, /proc, /sys/fs/cgroup, the disk and the API server of the stack. Made by RunScenario,
/// called by Engine and Checker.
/// Threads: one.
/// Errors: as Node's; Open names what chaos lacks on this machine.
/// Source: deploy/local/README.md.

#include <memory>
#include <string>

#include "chaos/node/api_server.h"
#include "chaos/node/local_faults.h"
#include "chaos/node/local_paths.h"
#include "chaos/node/node.h"
#include "libs/operate/client.h"
#include "libs/operate/host_resources.h"
#include "libs/operate/supervisor.h"

namespace splitlet::chaos {

inline constexpr const char* kNeedsRoot =
    "chaos kills processes and reads the runtime: run it as root";

class LocalNode final : public Node {
 public:
  static StatusOr<std::unique_ptr<LocalNode>> Open(const operate::Client& client);
  ~LocalNode() override;

  Status CanDo(const Action& action) override { return faults_->CanDo(action); }
  Status CanServe() override;
  Status PutPod(const PodToRun& pod) override;
  Status RemovePod(const std::string& name) override;
  Status Begin(const Action& action) override { return faults_->Begin(action); }
  Status End(const Action& action) override { return faults_->End(action); }
  Status Again(const Action& action) override { return faults_->Again(action); }
  Snapshot Inspect() override;
  std::optional<WallTime> EndOf(const std::string& container) override;
  std::string FullName(const std::string& pod) const override { return paths_.FullName(pod); }
  std::vector<std::string> Unwell() override;
  std::set<std::string> HostResources() override;
  Status CleanUp() override;
  std::set<std::string> RemoveRuntimeLeaks(const std::set<std::string>& resources) override;
  std::vector<BusLine> BusBetween(WallTime from, WallTime to) override;

 private:
  LocalNode(const operate::Client& client, LocalPaths paths);

  bool Answers(const Snapshot& snapshot, const std::string& process) const;
  void InspectRuntime(Snapshot& snapshot);
  void InspectStatus(Snapshot& snapshot);
  void InspectProcesses(Snapshot& snapshot);
  void InspectWitnesses(Snapshot& snapshot);
  void InspectServer(Snapshot& snapshot);
  /// Creates the objects and folders that volumes of API pods refer to; called once.
  Status PutObjects();
  /// Path of the pod's object at the API server.
  std::string ServedPath(const std::string& pod) const;

  const operate::Client& client_;
  const LocalPaths paths_;
  std::unique_ptr<operate::Supervisor> supervisor_;
  struct Runtime;
  std::unique_ptr<Runtime> runtime_;
  /// The exit time of a container, queried once for each container; nullopt: no answer.
  struct Start {
    std::optional<WallTime> at;  // nullopt: its process never ran
  };
  std::optional<Start> StartOf(const std::string& container);

  ApiServer server_;
  std::map<std::string, bool> served_;  // pods created at the API server -> whether deletion was
                                        // forced
  bool objects_put_ = false;
  std::vector<SeenEvents> events_;  // events as last listed
  Clock::Time events_due_;
  Snapshot last_;
  operate::KnownPods pods_;              // all pods ever seen
  std::map<std::string, Start> starts_;  // start time by container
  std::unique_ptr<LocalFaults> faults_;
};

}  // namespace splitlet::chaos
