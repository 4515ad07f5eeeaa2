#pragma once

/// All metrics of node-api.
/// Threads: any.
/// Errors: none.
/// Units: seconds.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "libs/config/feature_gates.h"

namespace splitlet::node_api {

/// Metrics of the reviews by the API server.
struct ReviewMetrics {
  explicit ReviewMetrics(prometheus::Registry& registry);

  struct Kind {
    prometheus::Family<prometheus::Counter>& requests;   // code
    prometheus::Family<prometheus::Histogram>& seconds;  // code
    /// `code`: HTTP status of the answer; 0: no answer. `took`: seconds.
    void Count(int code, double took);
  };
  Kind tokens;  // TokenReviews
  Kind rights;  // labels: method, path, server_type, long_running
};

struct NodeApiMetrics {
  explicit NodeApiMetrics(prometheus::Registry& registry);

  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;
  Counters& requests;                  // labels as above
  Histograms& request_seconds;         // labels as above
  Gauges& inflight;                    // labels as above
  Counters& refused;                   // label why: unauthenticated, forbidden, unanswered, busy
  Gauges& connections;                 // label: server
  Gauges& displaced;                   // label: server
  prometheus::Gauge& has_certificate;  // 1 or 0
  prometheus::Gauge& build_info;       // labels: git_version, major, minor, platform
  Gauges& features;                    // labels: name, stage

  /// Sets a series for each gate of a kubelet: 1 if this node has the feature.
  void ShowGates(const config::FeatureGates& gates);
};

/// Labels of one request. `path`: decoded.
struct RequestLabels {
  std::string method, path, server_type, long_running;
  prometheus::Labels Get() const;
};
RequestLabels LabelsOf(const std::string& method, const std::string& path, bool read_only);

}  // namespace splitlet::node_api
