#include "services/status/api/node/registration.h"

#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/base/fail_point.h"
#include "services/status/api/node/node_object.h"
#include "services/status/api/node/node_patch.h"

namespace splitlet::status {
namespace {

/// A Node that was reported in this boot keeps what other clients set in it.
bool IsOfAnotherBoot(const kube::Node& initial, const kube::Node& existing) {
  const auto& before = existing.status().node_info().boot_id();
  return before.empty() || before != initial.status().node_info().boot_id();
}

Deadline NextDeadline(const RegistrationCall& call) {
  auto deadline = After(call.clock, call.timeout);
  deadline.cancel = call.stop;
  return deadline;
}

StatusOr<Registered> Reconcile(const RegistrationCall& call, const kube::Node& initial) {
  const std::string path = NodePath(initial.metadata().name());
  auto existing = std::make_shared<kube::Node>();
  RETURN_IF_ERROR(call.client.Get(path, existing.get(), NextDeadline(call)), "get node");
  kube::Node corrected = *existing;
  ReconcileNode(initial, call.reset_extended && IsOfAnotherBoot(initial, *existing), corrected);
  const NodePatch patch = MakeNodePatch(*existing, corrected);
  if (patch.json.empty()) return Registered{.node = std::move(existing)};
  auto patched = std::make_shared<kube::Node>();
  FAIL_POINT("status.reconcile-node.before");
  RETURN_IF_ERROR(
      call.client.Patch(path + "/status", {apiclient::PatchType::kStrategicMerge, patch.json},
                        patched.get(), NextDeadline(call)),
      "patch node");
  FAIL_POINT("status.reconcile-node.after");
  return Registered{.node = std::move(patched)};
}

}  // namespace

StatusOr<Registered> RegisterNode(const RegistrationCall& call, const kube::Node& initial) {
  auto node = std::make_shared<kube::Node>();
  FAIL_POINT("status.create-node.before");
  const Status created =
      call.client.Create(kNodesPath, {"v1", "Node", initial}, node.get(), NextDeadline(call));
  FAIL_POINT("status.create-node.after");
  if (created.ok()) return Registered{.node = std::move(node), .created = true};
  // A client that may not create nodes may still have a Node that an administrator created.
  const bool may_exist = created.code() == StatusCode::kAlreadyExists ||
                         created.code() == StatusCode::kPermissionDenied;
  if (!may_exist) return Annotate(created, "create node");
  return Reconcile(call, initial);
}

}  // namespace splitlet::status
