#pragma once

/// The files of a volume that shows API objects or the pod itself: configMap, secret, downwardAPI,
/// and projected, which joins several of them and tokens.
/// Threads: pure but for the source of objects, any.
/// Errors:  in a kubelet's words: `configmap "a" not found`, `references non-existent secret key:
///          k`; UNAVAILABLE while the objects are not known.
/// Units:   modes are permission bits.
/// Source:  docs/behaviour/volumes.md, "Objects as files".

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/pod/node_info.h"

namespace splitlet::pod_worker {

struct PayloadFile {
  std::string content;
  uint32_t mode = 0;
  std::optional<uint32_t> user = std::nullopt;  // the owner; unset: root
  bool operator==(const PayloadFile&) const = default;
};
using Payload = std::map<std::string, PayloadFile>;  // by path below the volume

struct PayloadInput {
  const kube::Pod& pod;
  const NodeInfo& node;
  const ObjectSource* objects;  // null: this node has none
};
StatusOr<Payload> MakePayload(const kube::Volume& volume, const PayloadInput& in);

}  // namespace splitlet::pod_worker
