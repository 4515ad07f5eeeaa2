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

/// Questions to the API server about clients.
struct ReviewMetrics {
  explicit ReviewMetrics(prometheus::Registry& registry);

  struct Kind {
    prometheus::Family<prometheus::Counter>& requests;   // code
    prometheus::Family<prometheus::Histogram>& seconds;  // code
    /// `code`: HTTP status of the answer; 0: no answer. `took`: seconds.
    void Count(int code, double took);
  };
  Kind tokens;  // TokenReviews
  Kind rights;  // SubjectAccessReviews
};

struct NodeApiMetrics {
  explicit NodeApiMetrics(prometheus::Registry& registry);

  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;
  Counters& requests;                  // method, path, server_type, long_running
  Histograms& request_seconds;         // the same labels
  Gauges& inflight;                    // the same labels
  Counters& refused;                   // why: unauthenticated, forbidden, unanswered, busy
  Gauges& connections;                 // server
  Gauges& displaced;                   // server
  prometheus::Gauge& has_certificate;  // 1 or 0
  prometheus::Gauge& build_info;       // git_version, major, minor, platform
  Gauges& features;                    // name, stage

  /// Sets a series for each gate of a kubelet: 1 if this node has the feature.
  void ShowGates(const config::FeatureGates& gates);
};

/// Labels of one request. `path`: the decoded one.
struct RequestLabels {
  std::string method, path, server_type, long_running;
  prometheus::Labels Get() const;
};
RequestLabels LabelsOf(const std::string& method, const std::string& path, bool read_only);

}  // namespace splitlet::node_api
