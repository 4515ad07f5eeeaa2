#pragma once

/// Renews the lease of this node in kube-node-lease, the heartbeat by which the control plane knows
/// that the node is alive. It depends on nothing but the API server.
/// In:      a timer, every quarter of the lease's duration.
/// Owns:    the lease as the server has it.
/// Out:     creates and renews the Lease.
/// Killed:  the next start reads the lease and renews it; until then the lease runs out.
/// Threads: the loop's; requests run on the strand "api/lease".
/// Errors:  logged when they change. A renewal is tried up to five times in a round, but once if
///          the server has no room. Without a lease, the next round starts after 0.2 s to 7 s. A
///          node that is not registered yet is not an error.
/// Source:  docs/behaviour/node.md, "Lease"; docs/safety.md, rule 24; kubelet nodelease controller.

#include <memory>
#include <string>

#include "libs/apiclient/client.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/status/config.h"
#include "services/status/metrics.h"

namespace k8s::io::api::coordination::v1 {
class Lease;
}

namespace splitlet::status {

class NodeLease {
 public:
  struct Deps {
    exec::Env env;
    apiclient::Transport& transport;  // used by the lease alone
    apiclient::Client::Options client;
    NodeAtServerMetrics& metrics;
  };
  NodeLease(Deps deps, const StatusConfig& config);
  ~NodeLease();
  NodeLease(const NodeLease&) = delete;
  NodeLease& operator=(const NodeLease&) = delete;

  void Start();
  /// Cancels the running request.
  void BeginStop();

 private:
  using Lease = k8s::io::api::coordination::v1::Lease;
  struct Round;
  struct Renewed;

  void Schedule(Duration delay);
  void Renew();
  void OnRenewed(const Renewed& renewed);

  Deps deps_;
  const StatusConfig& config_;
  const std::shared_ptr<apiclient::Client> client_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  std::shared_ptr<const Lease> held_;  // null: unknown, read it first
  Duration ensure_wait_{0};            // before the round that runs; 0: it had a lease
  std::string logged_error_;           // empty: none
  exec::TimerId timer_ = 0;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
