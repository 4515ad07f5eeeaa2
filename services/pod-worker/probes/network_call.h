#pragma once

/// What a probe by HTTP, TCP or gRPC asks of a server, and what its answer says, in the words of a
/// kubelet.
/// Threads: pure functions, any.
/// Errors:  in the answer; a probe without an address has none to ask.
/// Source:  docs/behaviour/probes.md, "httpGet", "tcpSocket" and "grpc".

#include <optional>

#include "libs/http/caller.h"
#include "services/pod-worker/probes/prober.h"

namespace splitlet::pod_worker {

/// nullopt: the pod has no address.
std::optional<http::Exchange> ExchangeOf(const ProbeCall& call);
/// Of a probe whose pod has no address.
ProbeAnswer AnswerWithoutAddress(const ProbeAction& action);
ProbeAnswer AnswerOf(const ProbeCall& call, const http::Outcome& outcome);

}  // namespace splitlet::pod_worker
