#pragma once

/// The lease of this node in kube-node-lease: the heartbeat by which a cluster knows that the node
/// is there. It depends on nothing but the API server.
/// In:      a round every quarter of the lease's duration.
/// Owns:    the lease as it was written last.
/// Out:     creates and renews the Lease.
/// Killed:  the next start reads the lease and renews it; until then it runs out.
/// Threads: the loop's; requests on the strand "api/lease".
/// Errors:  logged when they change. A renewal is tried five times in a round, and once where the
///          server has no room; a lease that cannot
///          be had is tried again after 0.2 s to 7 s. A node that is not there yet is no error.
/// Source:  docs/behaviour/node.md, "Lease"; docs/safety.md, rule 24; kubelet nodelease controller.

#include <memory>
#include <string>

#include "libs/apiclient/client.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
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
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    apiclient::Transport& transport;  // nothing else uses it
    apiclient::Client::Options client;
    NodeAtServerMetrics& metrics;
    const Log& log;
  };
  NodeLease(Deps deps, const StatusConfig& config);
  ~NodeLease();
  NodeLease(const NodeLease&) = delete;
  NodeLease& operator=(const NodeLease&) = delete;

  void Start();
  /// Gives up what is under way.
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
  std::shared_ptr<const Lease> held_;  // null: to be read
  Duration ensure_wait_;
  std::string problem_;  // that was logged
  exec::TimerId timer_ = 0;
  std::shared_ptr<bool> alive_;
};

}  // namespace splitlet::status
