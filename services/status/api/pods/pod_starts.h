#pragma once

/// Measures how long each pod of the API server took to start, with and without the time of image
/// pulls and init containers.
/// In:      pods in `desired`, statuses that the server accepted, events of image pulls.
/// Owns:    the creation time and the pulls of each pod that has not started yet.
/// Out:     kubelet_pod_start_sli_duration_seconds and the metrics beside it; a log line for each
///          pod.
/// Killed:  the next start measures each pod that the server has not shown as started.
/// Threads: the loop's.
/// Errors:  none. Events of pulls may be lost; the pull then counts as time to start.
/// Source:  docs/metrics.md; kubelet podStartupLatencyTracker.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/kube/pod_types.h"
#include "services/status/api/pod_metrics.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class PodStarts {
 public:
  PodStarts(const Clock& clock, const bus::View<v1::DesiredRecord>& desired, PodApiMetrics& metrics,
            Log log)
      : clock_(clock), desired_(desired), metrics_(metrics), log_(std::move(log)) {}

  void OnDesired(const std::string& key);
  /// The server shows this status of the pod.
  void OnStored(const std::string& key, const kube::PodStatus& status);
  void OnEvent(const v1::EventRecord& event);

 private:
  struct Pull {
    std::string container;             // field path of its events
    int64_t begin_ns = 0, end_ns = 0;  // wall clock; end 0: still pulling
  };
  struct Pod {
    std::string uid, name;  // of the object; "default/web"
    int64_t created_ns = 0;
    bool waits = true;  // the pod has not started, and its start will be measured
    bool stateful = false, host_network = false;
    std::vector<Pull> pulls;
  };
  static Pod Take(const v1::DesiredRecord& record, const kube::Pod& pod);
  void Measure(Pod& pod, const kube::PodStatus& status);

  const Clock& clock_;
  const bus::View<v1::DesiredRecord>& desired_;
  PodApiMetrics& metrics_;
  const Log log_;
  std::map<std::string, Pod> pods_;  // by key
  bool first_network_ = true;
};

}  // namespace splitlet::status
