#pragma once

/// csi_operations_seconds: calls that CSI drivers were sent.
/// Threads: any.
/// Source:  kubelet csi_metrics.

#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <string>

#include "libs/csi/call_errors.h"
#include "libs/csi/grpc_driver.h"

namespace splitlet::pod_worker {

class DriverMetrics {
 public:
  explicit DriverMetrics(prometheus::Registry& registry)
      : operations_(prometheus::BuildHistogram()
                        .Name("csi_operations_seconds")
                        .Help("Container Storage Interface operation duration with gRPC error code "
                              "status total")
                        .Register(registry)) {}

  void Observe(const std::string& driver, const csi::CallEnd& end) {
    operations_
        .Add({{"driver_name", driver},
              {"method_name", end.method},
              {"grpc_status_code", std::string(csi::GoCodeName(end.code))},
              {"migrated", "false"}},
             prometheus::Histogram::BucketBoundaries{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120,
                                                     300, 600})
        .Observe(std::chrono::duration<double>(end.took).count());
  }

 private:
  prometheus::Family<prometheus::Histogram>& operations_;
};

}  // namespace splitlet::pod_worker
