#pragma once

/// The gRPC service Status, and the health calls to the other processes.
/// Threads: handlers run on gRPC's threads and ask on the loop. Errors: UNAVAILABLE when the loop
/// does not answer. Source: services.proto; DESIGN.md "The calls", rule 24.

#include <functional>
#include <memory>
#include <string>

#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "services/status/peers.h"

namespace splitlet::status {

class StatusService;

/// The process: the service and its calls.
std::unique_ptr<daemon::Service> ServeStatus(exec::EventLoop& loop,
                                             std::unique_ptr<StatusService> service);

using FindPeer = std::function<std::shared_ptr<grpc::Channel>(const std::string& process)>;
/// Asks pleg for GetHealth, the others for GetProcess. `clock` outlives it.
std::unique_ptr<PeerHealth> MakeGrpcPeers(const Clock& clock, FindPeer find);

}  // namespace splitlet::status
