#pragma once

/// How long pods of the API server took to start, without what nobody here can make shorter.
/// In:      pods as `desired` has them, statuses that the server has taken, events of pulls.
/// Owns:    of each pod that has not started yet: when it was made, its pulls.
/// Out:     kubelet_pod_start_sli_duration_seconds and the metrics beside it; a log line of each
///          pod.
/// Killed:  a pod that was shown as started before is not measured, one that was not is.
/// Threads: the loop's.
/// Errors:  none. Pulls are known by their events, which are best effort: one that was lost counts
///          as time to start.
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
    int64_t begin_ns = 0, end_ns = 0;  // wall; end 0: goes on
  };
  struct Pod {
    std::string uid, name;  // of the object; "default/web"
    int64_t created_ns = 0;
    bool waits = true;  // its start is still to be measured
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
