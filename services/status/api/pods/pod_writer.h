#pragma once

/// One pod's status written to the API server: read where needed, merged, patched.
/// Threads: strands; calls block up to 10 s each.
/// Errors: those of apiclient::Client, in the result.
/// Killed: before a patch the next start sends it, after it finds nothing to send.
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

/// What the server has of a pod.
struct ServerPod {
  std::string uid, version;
  bool deleting = false;  // somebody asked for it
  kube::PodStatus status;
};
std::shared_ptr<const ServerPod> ServerPodOf(const kube::Pod& pod);

/// Whether resource version `a` is later than `b`; nothing when they cannot be compared.
std::optional<bool> IsLater(const std::string& a, const std::string& b);

struct WriteTask {
  PodObject object;
  std::string status;  // ours, serialised
  bool mirror = false;
  bool first = false;                     // of this start: what the API shows may be from before it
  std::shared_ptr<const ServerPod> base;  // null: read first
};

struct Written {
  Status status;      // OK: the server has it
  bool gone = false;  // no such pod any more, or another one of its name
  std::shared_ptr<const ServerPod> server;
};

Written WriteStatus(apiclient::Client& client, const WriteTask& task, const Deadline& deadline);

/// At once, and only this one. OK: it is gone, by us or before. ABORTED: another one has its name.
Status DeletePod(apiclient::Client& client, const PodObject& object, const Deadline& deadline);

}  // namespace splitlet::status
