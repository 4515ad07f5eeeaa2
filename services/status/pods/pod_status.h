#pragma once

/// The API status of a pod as a pure function of four tables and its last status.
/// Threads: any.
/// Errors: none.
/// Units: times in the API are whole seconds.
/// Source: docs/behaviour/status.md; docs/safety.md, rules 20 to 22.

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// Records of other incarnations are left out by the caller.
struct StatusInputs {
  const kube::Pod& pod;
  const v1::DesiredRecord& desired;
  const v1::AdmissionRecord* admission = nullptr;
  const v1::WorkerRecord* worker = nullptr;
  const v1::ObservedPod* runtime = nullptr;
  const kube::PodStatus* previous = nullptr;
  const kube::PodStatus* mirror = nullptr;  // of a static pod that shows no container yet
  bool rejected = false;  // the admission says so, and complete workers show no grant
  bool resize_refused =
      false;  // `pod` has the resources it was admitted with, and others are wanted
  bool sandbox_condition = true;  // pods have the condition PodReadyToStartContainers
  bool workers_live = true;
  bool listing_covers = false;  // a complete listing that vouches for the pod began after our last
                                // record of it and after the worker's last action
  const v1::NodeFeatures* features = nullptr;  // of the runtime
  std::vector<std::string> host_ips;           // first is the primary one
  WallTime now;
};

kube::PodStatus ComputePodStatus(const StatusInputs& in);

/// Terminated or finished: nothing of this incarnation can run any more.
bool IsWorkerDone(const v1::WorkerRecord* worker);

}  // namespace splitlet::status
