#pragma once

/// Keeps the CSINode of this node, and writes pod-worker's CSI drivers to it and to the Node.
/// In:      the Node as the server has it (OnNode); pod-worker's record `node` (OnWorkerNode).
/// Owns:    whether the CSINode was initialised; by CsiRegistrations, the outcomes of drivers.
/// Out:     the Node and the CSINode at the API server (CsiObjects); `on_change` after a change of
///          problem() or of the outcomes.
/// Killed:  the next start reads both objects, and writes what differs. A driver that left while
///          status was down stays in both.
/// Threads: the loop's; requests run on the strand "api/csi", one round after the other.
/// Errors:  logged when they change; a round is tried again after 0.2 s to 10 s, without limit.
/// Source:  docs/behaviour/csi-node.md; kubelet nodeinfomanager, initializeCSINode.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/kube/pod_types.h"
#include "services/status/api/csi/csi_plan.h"
#include "services/status/api/csi/csi_registrations.h"
#include "services/status/config.h"
#include "services/status/metrics.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

class CsiSync {
 public:
  struct Deps {
    exec::Env env;
    apiclient::Transport& transport;
    apiclient::Client::Options client;
    NodeAtServerMetrics& metrics;
    std::function<void()> on_change;
  };
  CsiSync(Deps deps, const StatusConfig& config);
  ~CsiSync();
  CsiSync(const CsiSync&) = delete;
  CsiSync& operator=(const CsiSync&) = delete;

  /// Cancels running requests.
  void BeginStop();
  void OnNode(const kube::Node& node);
  /// `worker_start`: the start of pod-worker that wrote the record.
  void OnWorkerNode(Clock::Time worker_start, const v1::WorkerNode& worker);

  /// Why the node cannot be Ready; empty: it can.
  std::string problem() const { return CsiNodeProblem(known_); }
  void AddOutcomes(v1::NodeRecord& node) const { registrations_.AddOutcomes(node); }

 private:
  struct Result;
  class Round;
  /// Starts a round if there is work and neither a round nor a wait.
  void SyncSoon();
  void OnRound(const Result& result);
  Status TakeResults(const Result& result);
  Status TakeDrivers(const Result& result);
  void CountDrivers();

  Deps deps_;
  const StatusConfig& config_;
  const std::shared_ptr<apiclient::Client> client_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  CsiNodeKnown known_;
  CsiRegistrations registrations_;
  bool running_ = false;      // a round runs
  Duration wait_{0};          // before the next round; 0: the last round succeeded
  exec::TimerId timer_ = 0;   // of a round that follows a failure
  std::string logged_error_;  // empty: none
  const exec::Asker asker_;   // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
