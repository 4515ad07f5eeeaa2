#pragma once

/// Which pods a critical pod preempts, so that its resources become free.
/// Threads: pure functions, any.
/// Errors: none; no answer means that no set of pods frees enough.
/// Source: docs/behaviour/admission.md, "Preemption".

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/kube/pod_types.h"
#include "libs/kube/resources.h"
#include "services/sync-loop/admission/rules.h"

namespace splitlet::sync_loop {

/// A pod that holds resources now.
struct ActivePod {
  std::string key;
  int64_t incarnation = 0;
  kube::QosClass qos = kube::QosClass::kBestEffort;
  bool critical = false;
  std::optional<int32_t> priority;
  Amounts requests;
};

/// The missing amount of each resource, in the order in which they are reported; "pods" too.
using Needs = std::vector<std::pair<std::string, int64_t>>;
Needs FindNeeds(const AdmissionInput& input, const NodeLoad& load);

/// A critical pod may preempt a pod that is not critical, and a pod of lower priority.
bool MayPreempt(const kube::Pod& pod, const ActivePod& other);

/// Prefers BestEffort, then Burstable, then Guaranteed pods, and as few of a better class as
/// possible. Nothing: all candidates together free too little.
std::optional<std::vector<ActivePod>> ChooseVictims(const Needs& needs,
                                                    const std::vector<ActivePod>& candidates);

/// The kubelet's text when there is no such set.
std::string NoVictimsMessage(const Needs& needs);

}  // namespace splitlet::sync_loop
