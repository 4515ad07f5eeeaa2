#pragma once

/// One attempt to make this node known to the API server: create it, or correct the one that is
/// there.
/// Killed:  the next start finds the node and reconciles it; both steps can be done again.
/// Threads: a strand; it blocks.
/// Errors:  those of apiclient::Client; the whole attempt is to be made again.
/// Source:  docs/behaviour/node.md, "At the API server"; kubelet tryRegisterWithAPIServer.

#include <functional>
#include <memory>
#include <string>

#include "libs/apiclient/client.h"
#include "libs/kube/pod_types.h"
#include "services/status/api/paths.h"

namespace splitlet::status {

struct Registered {
  std::shared_ptr<const kube::Node> node;  // as the server has it
  bool created = false;
};

struct RegistrationCall {
  const Clock& clock;
  apiclient::Client& client;
  Duration timeout;                             // of each request
  std::shared_ptr<CancelToken> stop = nullptr;  // may be null
  /// Nobody here knows the devices of a node that is there already.
  bool reset_extended = false;
};
StatusOr<Registered> RegisterNode(const RegistrationCall& call, const kube::Node& initial);

}  // namespace splitlet::status
