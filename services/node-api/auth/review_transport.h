#pragma once

/// The transport of reviews: counts each answer by code, and its time.
/// In:      requests of the reviewer.
/// Out:     the same requests, to the transport below; metrics.
/// Killed:  it keeps nothing.
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
  // The last member, because its destructor answers the pending requests.
  const std::unique_ptr<apiclient::Transport> below_;
};

}  // namespace splitlet::node_api
