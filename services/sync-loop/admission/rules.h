#pragma once

/// May a pod run on this node? Decided from what is known of the node and of the pods that count
/// already. Messages and reasons are the kubelet's.
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
  Amounts allocatable;  // empty: not known, refuses nothing
  NodeAbilities abilities;
  bool registered = false;  // the API server has it: labels and taints are the server's
};
/// A quantity that does not parse counts as not known.
NodeDigest ReadNode(const v1::NodeRecord& record);

struct Refusal {
  /// What it rests on: it stands only while that is known well enough (docs/safety.md, rule 12).
  enum class Ground { kPod, kPressure, kResources, kNodeLabels };
  Ground ground = Ground::kPod;
  std::string reason, message;
  bool operator==(const Refusal&) const = default;
};

/// The question, but for the load: one pod is asked about beside several.
struct AdmissionInput {
  const kube::Pod& pod;
  const PodRequests& requests;
  const NodeDigest* node = nullptr;          // nullptr: not known, refuses nothing
  const std::vector<std::string>& pressure;  // conditions of the node; empty when not known
  bool shutting_down = false;                // the node, as far as known
  const SysctlPolicy& sysctls;
  const std::string& node_name;
  int64_t max_pods = 110;  // where allocatable does not say
  /// Resources of device plugins, with how many devices a pod may be given: they decide of these,
  /// and not what the Node shows. nullptr: there are none.
  const Amounts* devices = nullptr;
  bool pod_resources = true;  // the feature gate PodLevelResources
};

/// The first refusal in the kubelet's order; nothing: admitted. A pod that asks for abilities of
/// the node is not decided before they are known: without them it is refused.
/// `load`: of the node, without this pod.
std::optional<Refusal> FindRefusal(const AdmissionInput& input, const NodeLoad& load);

/// What an edit of an admitted pod makes it need that no node of this program has, as the text of
/// the event; empty: nothing.
std::string LackAfterEdit(const kube::PodSpec& before, const kube::PodSpec& after);

/// Value of the label `reason` of admission_rejections_total, from a closed set.
std::string ReasonLabel(const std::string& reason);
/// The whole set.
std::vector<std::string> ReasonLabels();

}  // namespace splitlet::sync_loop
