#pragma once

/// The request of a probe by HTTP, TCP or gRPC, and the probe's answer from the server's, in the
/// words of a kubelet.
/// Threads: pure functions, any.
/// Errors:  in the answer.
/// Source:  docs/behaviour/probes.md, "httpGet", "tcpSocket" and "grpc".

#include <optional>

#include "libs/http/caller.h"
#include "services/pod-worker/probes/prober.h"

namespace splitlet::pod_worker {

/// nullopt: the pod has no address.
std::optional<http::Exchange> ExchangeOf(const ProbeCall& call);
/// The answer of a probe whose pod has no address.
ProbeAnswer AnswerWithoutAddress(const ProbeAction& action);
ProbeAnswer AnswerOf(const ProbeCall& call, const http::Outcome& outcome);

}  // namespace splitlet::pod_worker
