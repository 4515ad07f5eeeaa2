#include "libs/rpc/call_metrics.h"

#include <chrono>

namespace splitlet::rpc {

CallMetrics::CallMetrics(prometheus::Registry& registry)
    : client_{prometheus::BuildCounter()
                  .Name("splitlet_rpc_client_calls_total")
                  .Help("Calls of other processes that ended, by code")
                  .Register(registry),
              prometheus::BuildHistogram()
                  .Name("splitlet_rpc_client_duration_seconds")
                  .Help("How long calls of other processes took")
                  .Register(registry)},
      server_{prometheus::BuildCounter()
                  .Name("splitlet_rpc_server_calls_total")
                  .Help("Calls answered, by code")
                  .Register(registry),
              prometheus::BuildHistogram()
                  .Name("splitlet_rpc_server_duration_seconds")
                  .Help("How long it took to answer calls")
                  .Register(registry)} {}

void CallMetrics::Note(Side side, const std::string& method, StatusCode code, Duration took) {
  Families& families = side == Side::kClient ? client_ : server_;
  families.calls.Add({{"method", method}, {"code", std::string(CodeName(code))}}).Increment();
  families.seconds
      .Add({{"method", method}},
           prometheus::Histogram::BucketBoundaries{.0005, .001, .0025, .005, .01, .025, .05, .1,
                                                   .25, .5, 1, 2.5, 5, 10})
      .Observe(std::chrono::duration<double>(took).count());
}

}  // namespace splitlet::rpc
