#pragma once

/// How many workers there are, for the metrics.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  docs/metrics.md; kubelet HandlePodCleanups, which counts kubelet_working_pods.

#include "libs/bus/typed.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/workers.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

void CountWorkers(const Workers& workers, const bus::View<v1::DesiredRecord>& desired,
                  Metrics& metrics);

}  // namespace splitlet::pod_worker
