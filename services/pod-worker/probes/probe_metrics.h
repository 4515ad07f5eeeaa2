#pragma once

/// The metrics prober_* of one probe; its end removes them.
/// Threads: the loop's.
/// Errors:  none.
/// Units:   seconds.
/// Source:  docs/metrics.md.

#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/probes/probe.h"

namespace splitlet::pod_worker {

class ProbeSeries {
 public:
  ProbeSeries(Metrics& metrics, const PodRef& pod, const std::string& container, ProbeKind kind);
  ~ProbeSeries();
  ProbeSeries(const ProbeSeries&) = delete;
  ProbeSeries& operator=(const ProbeSeries&) = delete;
  void Observe(bool success, Duration took);

 private:
  prometheus::Counter& Total(const char* result) const;

  Metrics& metrics_;
  const prometheus::Labels labels_;  // of duration_; the counters have more
  const std::string uid_;
  prometheus::Counter* successful_ = nullptr;  // null: none yet
  prometheus::Counter* failed_ = nullptr;
  prometheus::Histogram* duration_ = nullptr;
};

}  // namespace splitlet::pod_worker
