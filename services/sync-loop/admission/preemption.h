#pragma once

/// Which pods have to go so that a critical pod finds room.
/// Threads: pure functions, any.
/// Errors: none; no answer means that no set of pods makes the room.
/// Source: docs/behaviour/admission.md, "Preemption".

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/kube/pod_types.h"
#include "libs/kube/resources.h"
#include "services/sync-loop/admission/rules.h"

namespace splitlet::sync_loop {

/// A pod that counts now.
struct ActivePod {
  std::string key;
  int64_t incarnation = 0;
  kube::QosClass qos = kube::QosClass::kBestEffort;
  bool critical = false;
  std::optional<int32_t> priority;
  Amounts requests;
};

/// What is missing of each resource, in the order in which lacks are reported; "pods" too.
using Needs = std::vector<std::pair<std::string, int64_t>>;
Needs FindNeeds(const AdmissionInput& input, const NodeLoad& load);

/// A critical pod may push out one that is not; else a higher priority a lower one.
bool MayPreempt(const kube::Pod& pod, const ActivePod& other);

/// BestEffort first, then Burstable, then Guaranteed; as few of the better classes as possible.
std::optional<std::vector<ActivePod>> ChooseVictims(const Needs& needs,
                                                    const std::vector<ActivePod>& candidates);

/// The kubelet's text when there is no such set.
std::string NoVictimsMessage(const Needs& needs);

}  // namespace splitlet::sync_loop
