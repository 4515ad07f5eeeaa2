#pragma once

/// Computes the API status of a pod from the records of four tables and its last status. Pure.
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

/// The caller leaves out records of other incarnations.
struct StatusInputs {
  const kube::Pod& pod;
  const v1::DesiredRecord& desired;
  const v1::AdmissionRecord* admission = nullptr;
  const v1::WorkerRecord* worker = nullptr;
  const v1::ObservedPod* runtime = nullptr;
  const kube::PodStatus* previous = nullptr;
  const kube::PodStatus* mirror =
      nullptr;                    // of the mirror pod of a static pod without containers yet
  bool rejected = false;          // see IsRejected in pods/first_status.h
  bool resize_refused = false;    // `pod` has the admitted resources; other ones are wanted
  bool sandbox_condition = true;  // pods have the condition PodReadyToStartContainers
  bool workers_live = true;
  /// A complete listing vouches for the pod, and began after our last put and the worker's last
  /// action.
  bool listing_covers = false;
  const v1::NodeFeatures* features = nullptr;  // of the runtime
  std::vector<std::string> host_ips;           // first is the primary one
  WallTime now;
};

kube::PodStatus ComputePodStatus(const StatusInputs& in);

/// pod-worker may create containers of this incarnation. false without a worker.
bool IsGranted(const v1::WorkerRecord* worker);
/// TERMINATED or FINISHED: no container of this incarnation can run again.
bool IsWorkerDone(const v1::WorkerRecord* worker);

}  // namespace splitlet::status
