#pragma once

/// Scrapes the other processes at their ports, which they report by GetProcess.
/// Threads: Ask from any; answers come on a strand or the caller's thread.
/// Errors: gRPC codes; those of http::Caller; UNAVAILABLE for another HTTP status than 200.

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
  bool fixed_ports = false;  // every process has the port of its row in libs/base/processes.h
};
/// The address to scrape for a process that reports `address`: its port on loopback. UNAVAILABLE:
/// it has no port. PERMISSION_DENIED: the address is of another machine, or the port of another
/// process.
StatusOr<std::string> CheckedAddress(const std::string& process, const std::string& address,
                                     bool fixed_ports);
/// The members of `deps` outlive the result.
std::unique_ptr<MetricsSource> MakeProcessMetrics(ProcessMetricsDeps deps);

}  // namespace splitlet::node_api
