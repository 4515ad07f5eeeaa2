#include "services/pod-worker/probes/probe_metrics.h"

namespace splitlet::pod_worker {

ProbeSeries::ProbeSeries(Metrics& metrics, const PodRef& pod, const std::string& container,
                         ProbeKind kind)
    : metrics_(metrics),
      labels_{{"probe_type", std::string(TitleOf(kind))},
              {"container", container},
              {"pod", pod.name},
              {"namespace", pod.name_space}},
      uid_(pod.uid) {}

ProbeSeries::~ProbeSeries() {
  if (successful_ != nullptr) metrics_.probes.Remove(successful_);
  if (failed_ != nullptr) metrics_.probes.Remove(failed_);
  if (duration_ != nullptr) metrics_.RemoveProbeDuration(*duration_);
}

prometheus::Counter& ProbeSeries::Total(const char* result) const {
  prometheus::Labels labels = labels_;
  labels["pod_uid"] = uid_;
  labels["result"] = result;
  return metrics_.probes.Add(labels);
}

void ProbeSeries::Observe(bool success, Duration took) {
  if (!success) {
    if (failed_ == nullptr) failed_ = &Total("failed");
    return failed_->Increment();
  }
  if (successful_ == nullptr) successful_ = &Total("successful");
  if (duration_ == nullptr) duration_ = &metrics_.AddProbeDuration(labels_);
  successful_->Increment();
  duration_->Observe(Metrics::Seconds(took));
}

}  // namespace splitlet::pod_worker
