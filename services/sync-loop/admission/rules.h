#pragma once

/// May a pod run on this node? The answer depends on the node and on the pods that hold its
/// resources already. Reasons and messages are the kubelet's.
/// Threads: pure functions, any.
/// Errors: a refusal is a value.
/// Source: docs/behaviour/admission.md, "The checks".

#include <optional>
#include <string>
#include <vector>

#include "libs/kube/node_match.h"
#include "libs/kube/pod_types.h"
#include "services/sync-loop/admission/pod_security.h"
#include "services/sync-loop/admission/requests.h"
#include "services/sync-loop/admission/sysctls.h"

namespace splitlet::v1 {
class NodeRecord;
}

namespace splitlet::sync_loop {

/// The node as admission sees it.
struct NodeDigest {
  std::string name;
  kube::Labels labels;
  std::vector<kube::Taint> taints;
  Amounts allocatable;  // empty: not known, refuses no pod
  NodeAbilities abilities;
  bool registered = false;  // the API server has the node: labels and taints are the server's
};
/// A quantity that does not parse counts as not known.
NodeDigest ReadNode(const v1::NodeRecord& record);

struct Refusal {
  /// The input that the refusal rests on. A refusal stands only while that input is known well
  /// enough (docs/safety.md, rule 12). Only kResources can be mended by a preemption.
  enum class Ground { kPod, kPressure, kResources, kHostPorts, kNodeLabels };
  Ground ground = Ground::kPod;
  std::string reason, message;
  bool operator==(const Refusal&) const = default;
};

/// Input of FindRefusal without the node's load, so that one pod can be tried against several
/// loads.
struct AdmissionInput {
  const kube::Pod& pod;
  const PodRequests& requests;
  const NodeDigest* node = nullptr;          // nullptr: not known, refuses no pod
  const std::vector<std::string>& pressure;  // conditions of the node; empty when not known
  bool shutting_down = false;                // the node; false when not known
  const SysctlPolicy& sysctls;
  const std::string& node_name;
  int64_t max_pods = 110;  // when allocatable has no "pods"
  /// Resources of device plugins, with the number of devices that a pod may be given. For these
  /// resources it overrides the allocatable of the Node. nullptr: there are none.
  const Amounts* devices = nullptr;
  bool pod_resources = true;  // the feature gate PodLevelResources
};

/// The first refusal in the kubelet's order; nothing: admitted. The caller asks about a pod that
/// needs abilities of the node only when they are known: an unknown ability refuses the pod.
/// `load`: of the node, without this pod.
std::optional<Refusal> FindRefusal(const AdmissionInput& input, const NodeLoad& load);

/// Event text for the features that an edited pod requires, did not require before, and splitlet
/// lacks; empty: none.
std::string LackAfterEdit(const kube::PodSpec& before, const kube::PodSpec& after);

/// Value of the label `reason` of admission_rejections_total, from a closed set.
std::string ReasonLabel(const Refusal& refusal);
/// The whole set.
std::vector<std::string> ReasonLabels();

}  // namespace splitlet::sync_loop
