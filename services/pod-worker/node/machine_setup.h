#pragma once

/// Makes this machine what pods of a node rely on: settings of the kernel, chains of iptables.
/// In:      Start; a check of the canary each minute.
/// Owns:    nothing; the kernel has it.
/// Out:     an event of the node when a setting cannot be made, volumes in memory may come to a
///          disk, or pods get less than the resolver file holds.
/// Killed:  the next start does it again; what is there stays.
/// Threads: the loop's; all that blocks on one strand.
/// Errors:  logged when they change; the chains are tried again at the next minute.
/// Source:  docs/behaviour/machine.md.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/daemon/service.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/mounts.h"
#include "services/pod-worker/node/firewall.h"
#include "services/pod-worker/node/sysctls.h"

namespace splitlet::pod_worker {

struct MachineSettings {
  bool sysctls = false;          // are set
  bool checked_sysctls = false;  // are as they must be, or the process does not start
  bool chains = false;
  bool swap_on = false;              // what is in memory may come to a disk
  bool shared_root = false;          // of pods: what containers mount in volumes is seen by others
  std::string resolver_config = {};  // path; empty: no file
  bool cluster_domain = false;       // pods search it too
};

class MachineSetup {
 public:
  struct Deps {
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    fs::InPlaceWriter write;
    fs::Mounts& mounts;
    process::ProgramRunner run;
    daemon::EventRecorder& events;
    Log log;
    std::string node_name;
    std::string root_dir;  // of pods
  };
  MachineSetup(Deps deps, MachineSettings settings);
  MachineSetup(const MachineSetup&) = delete;
  MachineSetup& operator=(const MachineSetup&) = delete;

  void Start();

 private:
  struct Chains {
    Firewall firewall;
    std::string trouble;   // that was logged last
    bool missing = false;  // the program: there is nothing to keep
  };
  void OnTick();
  void EnsureSoon(const std::shared_ptr<Chains>& chains);
  void OnEnsured(Chains& chains, const Status& status);
  void OnSysctls(const Status& status);
  void OnSwapTried(bool kept_off);
  void OnResolverRead(const std::string& trouble);
  void NodeWarning(const char* reason, const std::string& message);

  Deps deps_;
  const MachineSettings settings_;
  std::vector<std::shared_ptr<Chains>> chains_;
  size_t under_way_ = 0;
  std::unique_ptr<exec::Periodic> tick_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
