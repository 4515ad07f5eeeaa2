#pragma once

/// The Node and the CSINode of this node at the API server, for the length of one round.
/// In:      CSI drivers to write and to remove.
/// Out:     reads and patches the Node; reads, creates, updates and deletes the CSINode.
/// Killed:  the next round reads both objects, and writes what differs.
/// Threads: a strand; each method blocks.
/// Errors:  those of apiclient::Client, with a kubelet's text before them.
/// Source:  docs/behaviour/csi-node.md; kubelet nodeinfomanager.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libs/apiclient/client.h"
#include "libs/csi/csi_node.h"
#include "libs/csi/node_info.h"
#include "libs/kube/pod_types.h"
#include "services/status/api/csi/csi_registrations.h"

namespace splitlet::status {

class CsiObjects {
 public:
  struct Deps {
    const Clock& clock;
    std::shared_ptr<apiclient::Client> client;
    std::shared_ptr<CancelToken> stop;
    std::string node_name;
    Duration timeout;  // of each request
  };
  explicit CsiObjects(Deps deps);
  ~CsiObjects();
  CsiObjects(const CsiObjects&) = delete;
  CsiObjects& operator=(const CsiObjects&) = delete;

  /// Reads the Node, and makes sure that its CSINode exists. Comes before the other methods.
  Status Ensure();
  CsiWritten WriteDriver(const CsiSteps::Write& write);
  Status RemoveDriver(const std::string& driver);

  /// The UID of the Node; empty before Ensure.
  const std::string& node_uid() const { return node_uid_; }
  /// How often this object has created the CSINode.
  int creations() const { return creations_; }
  /// Why an earlier CSINode was deleted; empty: none was.
  const std::string& deleted_text() const { return deleted_text_; }

 private:
  Deadline NextDeadline() const;
  std::string Path() const;
  Status EnsureCsiNode();
  Status Create();
  Status Update(const csi::CsiNodeObject& object);
  Status Delete(const csi::CsiNodeObject& object);
  Status PatchNode(const kube::Node& changed);
  Status SetDriver(const std::string& driver, const csi::NodeInfo& info);
  /// `change` returns true if the object must be written. Repeated after a conflict.
  Status ChangeCsiNode(const std::function<bool(csi::CsiNodeObject&)>& change);

  const Deps deps_;
  std::unique_ptr<kube::Node> node_;              // null: not read
  std::unique_ptr<csi::CsiNodeObject> csi_node_;  // null: must be read
  std::string node_uid_, deleted_text_;
  int creations_ = 0;
};

}  // namespace splitlet::status
