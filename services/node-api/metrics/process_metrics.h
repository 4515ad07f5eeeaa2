#pragma once

/// Metrics of the other processes over their own ports, which each says by GetProcess.
/// Threads: Ask from any; answers come on a strand or the caller's thread.
/// Errors: gRPC codes; those of http::Caller; UNAVAILABLE for an answer that is none.

#include <functional>
#include <memory>
#include <string>

#include "libs/exec/exec.h"
#include "libs/http/caller.h"
#include "services/node-api/metrics/gather.h"

namespace grpc {
class Channel;
}

namespace splitlet::node_api {

struct ProcessMetricsDeps {
  const Clock& clock;
  exec::Strands& strands;
  http::Caller& caller;
  std::function<std::shared_ptr<grpc::Channel>(const std::string& process)> peer;
  bool fixed_ports = false;  // each process has the port of its row in libs/base/processes.h
};
/// Where a process is asked that says it has its port there: on loopback, whoever else it names.
/// UNAVAILABLE: it has none. PERMISSION_DENIED: it names another machine, or another's port.
StatusOr<std::string> CheckedAddress(const std::string& process, const std::string& address,
                                     bool fixed_ports);
/// What `deps` names outlives the result.
std::unique_ptr<MetricsSource> MakeProcessMetrics(ProcessMetricsDeps deps);

}  // namespace splitlet::node_api
