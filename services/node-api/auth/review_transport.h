#pragma once

/// The way to the API server by which it is asked about those who call: each answer is counted with
/// its code, and how long it took.
/// In:      requests of the reviewer.
/// Out:     the same to the transport below; metrics.
/// Killed:  nothing is kept.
/// Threads: as Transport.
/// Errors:  those of the transport below.
/// Source:  docs/metrics.md, "node-api"; kubelet BuildAuth.

#include <memory>
#include <string>

#include "libs/apiclient/transport.h"
#include "services/node-api/http/metrics.h"

namespace splitlet::node_api {

class ReviewTransport final : public apiclient::Transport {
 public:
  ReviewTransport(const Clock& clock, std::unique_ptr<apiclient::Transport> below,
                  prometheus::Registry& registry)
      : clock_(clock), metrics_(registry), below_(std::move(below)) {}
  void Begin(apiclient::Request request, Deadline deadline, Done done) override;
  void BeginStream(apiclient::Request request, Deadline deadline, OnData on_data,
                   Done done) override;
  std::string host() const override { return below_->host(); }

 private:
  const Clock& clock_;
  ReviewMetrics metrics_;
  const std::unique_ptr<apiclient::Transport> below_;  // its end answers what is under way
};

}  // namespace splitlet::node_api
