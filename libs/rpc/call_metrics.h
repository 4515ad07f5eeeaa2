#pragma once

/// Calls between processes, for caller and server, in seconds; by method ("Tables/List")
/// and gRPC code.
/// Threads: any; nothing fails.

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::rpc {

class CallMetrics {
 public:
  enum class Side { kClient, kServer };

  explicit CallMetrics(prometheus::Registry& registry);
  void Note(Side side, const std::string& method, StatusCode code, Duration took);

 private:
  struct Families {
    prometheus::Family<prometheus::Counter>& calls;
    prometheus::Family<prometheus::Histogram>& seconds;
  };
  Families client_;  // splitlet_rpc_client_calls_total, splitlet_rpc_client_duration_seconds
  Families server_;  // splitlet_rpc_server_calls_total, splitlet_rpc_server_duration_seconds
};

}  // namespace splitlet::rpc
