#pragma once

/// Removes the leftovers of ended pods, in rounds: containers, sandboxes, directories and
/// links.
/// In:    orders of GarbageCollector; views `desired` and `workers`, read after disk and runtime
/// were listed.
/// Owns:  the report of the last round, the containers that it saw in unknown state, and whether
/// the runtime could be listed.
/// Out:   removals, through Remover, which first asks the owners and takes a hold.
/// Killed at any line: the next round lists everything again and goes on. A directory that was
/// moved aside is emptied then. A hold that is not released ends after 60 s.
/// Threads: loop thread; listing and removing on the strand of rounds.
/// Errors: in the report of the round.
/// Source: docs/safety.md, rules 8, 10 and 25.

#include <functional>
#include <set>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/peers/desired_owner.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/collect/containers/inventory.h"
#include "services/gc/collect/containers/removal_plan.h"
#include "services/gc/collect/containers/remover.h"
#include "services/gc/collect/removal_log.h"
#include "services/gc/collect/report.h"
#include "services/gc/collect/round_queue.h"
#include "services/gc/config.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"

namespace splitlet::gc {

struct RemovalOrder {
  bool dry_run = false;
  bool short_of_disk = false;  // see ScopeInput
};

class ContainerGc {
 public:
  using Finish = std::function<void(const Report&)>;
  struct Deps {
    exec::Env env;
    RemoverDeps remover;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    NodeEvents& node_events;
    RemovalLog& removal_log;
    GcMetrics& metrics;
  };
  ContainerGc(const Deps& deps, const GcConfig& config)
      : deps_(deps), config_(config), asker_(deps.env.loop, deps.env.strands) {}

  /// Runs a round; calls `finish` on the loop, once.
  void Collect(RemovalOrder order, Finish finish);
  const Report& last() const { return last_; }
  /// Why the runtime could not be listed in the last round, or has not been listed yet; empty: it
  /// was.
  std::string RuntimeProblem() const;

 private:
  void OnInventory(const StatusOr<Inventory>& inventory, RemovalOrder order, const Finish& finish);
  void OnRemoved(const Report& report);
  void CountOrphans(const Report& report);
  Scope ScopeOfPod(const std::string& uid, const PodTraces& traces, bool short_of_disk) const;

  Deps deps_;
  const GcConfig& config_;
  Report last_;
  bool listed_ = false;            // once in this start
  std::set<std::string> unknown_;  // RemovalPlan::unknown of the last round
  std::string runtime_problem_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
