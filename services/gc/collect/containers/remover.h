#pragma once

/// Carries out a plan: asks the owners, takes a hold, and removes one thing after the other.
/// Threads: one strand; calls block.
/// Errors: a failed removal is in the report and the round goes on. Without the owners' answers
/// nothing is removed.
/// Killed at any line: the next round lists what is left, and empties a directory that was moved
/// aside.
/// Source: docs/safety.md, rules 8 and 25; docs/behaviour/garbage-collection.md, "Containers and
/// sandboxes" and "Directories and logs".

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/fs/file_system.h"
#include "libs/peers/desired_owner.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/collect/containers/removal_plan.h"
#include "services/gc/collect/report.h"
#include "services/gc/config.h"

namespace splitlet::gc {

/// Only StopPodSandbox, of the client that starts and stops.
using StopSandbox = std::function<Status(const cri::SandboxId& id, Deadline deadline)>;
/// Only StopContainer, of the same client.
using StopContainer =
    std::function<Status(const cri::ContainerId& id, int64_t grace_seconds, Deadline deadline)>;

struct RemoverDeps {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Reader& reader;
  cri::Remover& remover;
  StopSandbox stop_sandbox;
  StopContainer stop_container;
  daemon::EventRecorder& events;
  peers::HoldClient& workers;
  peers::DesiredOwner& desired;
};

class Remover {
 public:
  Remover(RemoverDeps deps, const GcConfig& config) : deps_(std::move(deps)), config_(config) {}
  Report Run(const RemovalPlan& plan, const Inventory& inventory);
  /// The report of a dry run: what Run would try to remove.
  Report Describe(const RemovalPlan& plan) const;

 private:
  void EmptyAside(const std::vector<Aside>& asides);
  Status Empty(const Aside& aside, Clock::Time end);
  Status EmptyWhile(const Aside& aside, const std::function<bool()>& go_on);
  void AskConfigSource(const RemovalPlan& plan);
  void AskConfigSource(const std::string& source, const std::set<std::string>& uids);
  Status TakeHold(const RemovalPlan& plan);
  void RemoveContainers(const RemovalPlan& plan);
  void RemoveSandboxes(const RemovalPlan& plan, const Inventory& inventory);
  void RemoveDirectories(const RemovalPlan& plan);
  bool RemoveOrKeep(const Removal& removal);
  bool TearDownVolumes(const Removal& removal);
  StatusOr<bool> AskForTearDown(const std::string& uid);
  void RemoveLinks(const RemovalPlan& plan);
  Status RemoveLink(const std::string& path);
  Status ReleaseHold();
  Status RemoveContainer(const cri::ContainerId& id);
  Status StopUnknown(const cri::Container& container);
  Status RemoveLogs(const cri::Container& container);
  Status RemoveLinksOf(const cri::ContainerId& container);
  Status RemoveSandbox(const cri::SandboxId& id);
  Status RemovePodDirectory(const Removal& removal);
  Status RemoveDirectory(const std::string& parent, const std::string& name,
                         const std::string& tree_aside);
  bool Refused(const std::string& uid) const {
    return refused_uids_.contains(uid) || failed_uids_.contains(uid);
  }
  std::string_view WhyKept(const std::string& uid) const;
  bool HoldIsOver();
  bool Record(const char* kind, const Removal& removal, const Status& status);
  /// Records that the thing stays; so do the things that would be removed after it.
  void Keep(const char* kind, const Removal& removal, std::string_view why);
  Deadline CallDeadline() const;

  RemoverDeps deps_;
  const GcConfig& config_;
  Report report_;
  std::set<std::string> refused_uids_;  // config-source knows the pod, or does not answer
  std::set<std::string> failed_uids_;   // something of the pod could not be removed
  /// The answer of pod-worker.
  struct Held {
    std::string id;  // empty: nothing was asked for
    Clock::Time ends;
    std::set<std::string> uids, containers, sandboxes;  // that may go
    std::set<std::string> stopped_sandboxes;            // that pod-worker has stopped
  };
  Held hold_;
};

}  // namespace splitlet::gc
