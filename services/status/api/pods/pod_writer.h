#pragma once

/// Writes one pod's status to the API server: reads the pod if needed, merges, patches.
/// Threads: strands; each call blocks up to 10 s.
/// Errors: those of apiclient::Client, in the result.
/// Killed: before a patch, the next start sends it; after it, the next start finds no difference.
/// Source: docs/behaviour/status.md, "To the API server".

#include <memory>
#include <optional>
#include <string>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/apiclient/client.h"
#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"
#include "services/status/api/paths.h"

namespace splitlet::status {

/// A pod as the server has it.
struct ServerPod {
  std::string uid, version;
  bool deleting = false;  // it has a deletion timestamp
  kube::PodStatus status;
};
std::shared_ptr<const ServerPod> ServerPodOf(const kube::Pod& pod);

/// Whether resource version `a` is later than `b`; nothing if they cannot be compared.
std::optional<bool> IsLater(const std::string& a, const std::string& b);

struct WriteTask {
  PodObject object;
  std::string status;  // ours, serialised
  bool mirror = false;
  bool first = false;  // the first write since the start: keep times that the API shows
  std::shared_ptr<const ServerPod> base;  // null: read the pod first
};

struct Written {
  Status status;      // OK: the server has it
  bool gone = false;  // the pod no longer exists, or another one has its name
  std::shared_ptr<const ServerPod> server;
};

Written WriteStatus(apiclient::Client& client, const WriteTask& task, const Deadline& deadline);

/// Deletes the pod with grace period 0, if its UID is that of `object`. OK: it is gone, now or
/// before. ABORTED: another pod has its name.
Status DeletePod(apiclient::Client& client, const PodObject& object, const Deadline& deadline);

}  // namespace splitlet::status
