#pragma once

/// The API server's objects that volumes of CSI drivers need. Each is read when it is needed, so
/// that a rotated secret counts immediately; only driver objects are watched, and tokens kept.
/// Threads: the loop's; an answer comes once, on the loop, possibly before the call returns.
/// Errors:  of the answers; NOT_FOUND: there is no such object.
/// Source:  docs/behaviour/volumes.md, "CSI".

#include <functional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/pod-worker/objects/account_source.h"
#include "services/pod-worker/objects/object_source.h"

namespace k8s::io::api::core::v1 {
class Node;
}
namespace k8s::io::api::storage::v1 {
class CSIDriver;
class VolumeAttachment;
}  // namespace k8s::io::api::storage::v1

namespace splitlet::pod_worker {

using NodeObject = k8s::io::api::core::v1::Node;
using CsiDriverObject = k8s::io::api::storage::v1::CSIDriver;
using VolumeAttachment = k8s::io::api::storage::v1::VolumeAttachment;

struct BoundToken {
  std::string token;
  WallTime expires;
};

class CsiObjects {
 public:
  template <class T>
  using Got = std::function<void(StatusOr<ObjectPtr<T>>)>;

  virtual ~CsiObjects() = default;
  /// Null: the cluster has no such object. UNAVAILABLE: not known yet.
  virtual StatusOr<ObjectPtr<CsiDriverObject>> FindDriver(const std::string& name) const = 0;
  /// This node, as it is now.
  virtual void ReadNode(Got<NodeObject> done) = 0;
  virtual void ReadAttachment(const std::string& name, Got<VolumeAttachment> done) = 0;
  virtual void ReadSecret(const ObjectName& name, Got<Secret> done) = 0;
  /// `wish.seconds` 0: the API server's default.
  virtual void GetToken(const TokenOwner& pod, const TokenWish& wish,
                        std::function<void(StatusOr<BoundToken>)> done) = 0;
};

}  // namespace splitlet::pod_worker
