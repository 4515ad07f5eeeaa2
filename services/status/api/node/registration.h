#pragma once

/// Tries once to register this node at the API server: creates the Node, or corrects the existing
/// one.
/// Killed:  the next start finds the Node and corrects it; both steps can be repeated.
/// Threads: a strand; it blocks.
/// Errors:  those of apiclient::Client; the caller repeats the whole attempt.
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
  std::shared_ptr<CancelToken> stop = nullptr;  // optional
  /// Extended resources of an existing Node become 0, because no device manager vouches for them.
  bool reset_extended = false;
};
StatusOr<Registered> RegisterNode(const RegistrationCall& call, const kube::Node& initial);

}  // namespace splitlet::status
