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

/// Of what the API server is asked about those who call.
struct ReviewMetrics {
  explicit ReviewMetrics(prometheus::Registry& registry);

  struct Asked {
    prometheus::Family<prometheus::Counter>& requests;   // code
    prometheus::Family<prometheus::Histogram>& seconds;  // likewise
    /// `code`: of the answer; 0: there was none.
    void Note(int code, double took);
  };
  Asked tokens;  // TokenReviews
  Asked rights;  // SubjectAccessReviews
};

struct NodeApiMetrics {
  explicit NodeApiMetrics(prometheus::Registry& registry);

  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;
  Counters& requests;                  // method, path, server_type, long_running
  Histograms& request_seconds;         // likewise
  Gauges& inflight;                    // likewise
  Counters& refused;                   // why: unauthenticated, forbidden, unanswered, busy
  Gauges& connections;                 // server
  Gauges& displaced;                   // server: cut to make room, so far
  prometheus::Gauge& has_certificate;  // 1: there is one to serve with
  prometheus::Gauge& build_info;       // git_version, major, minor, platform
  Gauges& features;                    // name, stage

  /// One series for each gate that a kubelet knows: 1 where this node has the feature.
  void ShowGates(const config::FeatureGates& gates);
};

/// Labels of one request. `path`: the decoded one.
struct RequestLabels {
  std::string method, path, server_type, long_running;
  prometheus::Labels Get() const;
};
RequestLabels LabelsOf(const std::string& method, const std::string& path, bool read_only);

}  // namespace splitlet::node_api
