#include "services/status/api/csi/csi_objects.h"

#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/base/fail_point.h"
#include "services/status/api/csi/csi_changes.h"
#include "services/status/api/node/node_patch.h"
#include "services/status/api/paths.h"

namespace splitlet::status {
namespace {

constexpr const char* kCsiNodesPath = "/apis/storage.k8s.io/v1/csinodes";
constexpr const char* kStorageVersion = "storage.k8s.io/v1";
constexpr int kMaxConflicts = 4;  // of a change, while other clients change the object too

// A kubelet makes several attempts within a call; "timed out" is its word for their end.
constexpr const char* kNodeErrorText =
    "error updating Node object with CSI driver node info: error updating node: timed out waiting "
    "for the condition; caused by";
constexpr const char* kCsiNodeErrorText =
    "error updating CSINode object with CSI driver node info: error updating CSINode: timed out "
    "waiting for the condition; caused by";

bool HasChangedAtServer(const Status& status) {
  return status.code() == StatusCode::kAborted || status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kAlreadyExists;
}

}  // namespace

CsiObjects::CsiObjects(Deps deps) : deps_(std::move(deps)) {}

CsiObjects::~CsiObjects() = default;

Deadline CsiObjects::NextDeadline() const {
  auto deadline = After(deps_.clock, deps_.timeout);
  deadline.cancel = deps_.stop;
  return deadline;
}

std::string CsiObjects::Path() const {
  return std::string(kCsiNodesPath) + "/" + apiclient::Escaped(deps_.node_name);
}

Status CsiObjects::Ensure() {
  auto node = std::make_unique<kube::Node>();
  RETURN_IF_ERROR(deps_.client->Get(NodePath(deps_.node_name), node.get(), NextDeadline()),
                  "get node");
  node_ = std::move(node);
  node_uid_ = node_->metadata().uid();
  return EnsureCsiNode();
}

Status CsiObjects::EnsureCsiNode() {
  Status last;
  for (int tries = 0; tries < kMaxConflicts; ++tries) {
    auto found = std::make_unique<csi::CsiNodeObject>();
    last = deps_.client->Get(Path(), found.get(), NextDeadline());
    if (last.code() == StatusCode::kNotFound) {
      last = Create();
    } else if (!last.ok()) {
      return Annotate(last, "get CSINode");
    } else if (!csi::IsOwnedBy(*found, node_uid_)) {
      deleted_text_ = csi::OtherOwnerText(*found, node_uid_);
      last = Delete(*found);
      if (last.ok()) last = Aborted("{}", deleted_text_);
    } else if (csi::SetMigratedPlugins(*found)) {
      last = Update(*found);
    } else {
      csi_node_ = std::move(found);
    }
    if (last.ok() || !HasChangedAtServer(last)) return last;
  }
  return last;
}

Status CsiObjects::Create() {
  auto created = std::make_unique<csi::CsiNodeObject>();
  const csi::CsiNodeObject object = csi::MakeCsiNode(deps_.node_name, node_uid_);
  ++creations_;  // also if the answer is lost
  FAIL_POINT("status.create-csi-node.before");
  RETURN_IF_ERROR(deps_.client->Create(kCsiNodesPath, {kStorageVersion, "CSINode", object},
                                       created.get(), NextDeadline()),
                  "create CSINode");
  FAIL_POINT("status.create-csi-node.after");
  csi_node_ = std::move(created);
  return OkStatus();
}

Status CsiObjects::Update(const csi::CsiNodeObject& object) {
  auto updated = std::make_unique<csi::CsiNodeObject>();
  FAIL_POINT("status.update-csi-node.before");
  RETURN_IF_ERROR(deps_.client->Update(Path(), {kStorageVersion, "CSINode", object}, updated.get(),
                                       NextDeadline()),
                  "update CSINode");
  FAIL_POINT("status.update-csi-node.after");
  csi_node_ = std::move(updated);
  return OkStatus();
}

/// Names the UID, so that a CSINode that another client has made since stays.
Status CsiObjects::Delete(const csi::CsiNodeObject& object) {
  FAIL_POINT("status.delete-csi-node.before");
  const Status deleted =
      deps_.client->Delete(Path(), {.uid = object.metadata().uid()}, NextDeadline());
  FAIL_POINT("status.delete-csi-node.after");
  return Annotate(deleted, "delete CSINode");
}

Status CsiObjects::PatchNode(const kube::Node& changed) {
  const NodePatch patch = MakeNodePatch(*node_, changed);
  if (patch.json.empty()) return OkStatus();
  auto patched = std::make_unique<kube::Node>();
  FAIL_POINT("status.patch-node-drivers.before");
  RETURN_IF_ERROR(deps_.client->Patch(NodePath(deps_.node_name) + "/status",
                                      {apiclient::PatchType::kStrategicMerge, patch.json},
                                      patched.get(), NextDeadline()),
                  "patch node");
  FAIL_POINT("status.patch-node-drivers.after");
  node_ = std::move(patched);
  return OkStatus();
}

Status CsiObjects::ChangeCsiNode(const std::function<bool(csi::CsiNodeObject&)>& change) {
  Status last;
  for (int tries = 0; tries < kMaxConflicts; ++tries) {
    if (csi_node_ == nullptr) RETURN_IF_ERROR(EnsureCsiNode(), "read CSINode again");
    csi::CsiNodeObject changed = *csi_node_;
    if (!change(changed)) return OkStatus();
    last = Update(changed);
    if (last.ok()) return last;
    csi_node_ = nullptr;
    if (!HasChangedAtServer(last)) return last;
  }
  return last;
}

Status CsiObjects::SetDriver(const std::string& driver, const csi::NodeInfo& info) {
  const auto set = [&](csi::CsiNodeObject& object) { return csi::SetDriver(object, driver, info); };
  const Status written = ChangeCsiNode(set);
  if (written.code() != StatusCode::kInvalidArgument) return written;
  // A server does not let an entry change, except its limit if the server is new enough. An entry
  // may go and come again.
  const auto remove = [&](csi::CsiNodeObject& object) { return csi::RemoveDriver(object, driver); };
  RETURN_IF_ERROR(ChangeCsiNode(remove), "remove the entry to replace it");
  return ChangeCsiNode(set);
}

CsiWritten CsiObjects::WriteDriver(const CsiSteps::Write& write) {
  const auto refuse = [&](Status status) {
    return CsiWritten{.driver = write.driver, .status = std::move(status), .refused = true};
  };
  const std::string& name = write.driver.name();
  const auto info = CheckedInfo(write.driver);
  if (!info.ok()) return refuse(info.status());
  CsiWritten written{.driver = write.driver};
  if (!write.limit_only) {
    const auto changed = NodeWithDriver(*node_, name, *info);
    if (!changed.ok()) return refuse(Annotate(changed.status(), kNodeErrorText));
    written.status = Annotate(PatchNode(*changed), kNodeErrorText);
  }
  if (written.status.ok()) written.status = Annotate(SetDriver(name, *info), kCsiNodeErrorText);
  return written;
}

Status CsiObjects::RemoveDriver(const std::string& driver) {
  RETURN_IF_ERROR(
      ChangeCsiNode([&](csi::CsiNodeObject& object) { return csi::RemoveDriver(object, driver); }),
      "error uninstalling CSI driver from CSINode object");
  return Annotate(PatchNode(NodeWithoutDriver(*node_, driver)),
                  "error removing CSI driver node info from Node object");
}

}  // namespace splitlet::status
