#pragma once

/// What gc asks of pod-worker, by gRPC. Threads, errors: as clients.h.

#include <memory>

#include "services/gc/clients.h"

namespace grpc {
class Channel;
}

namespace splitlet::gc {

std::unique_ptr<WorkerClient> MakeWorkerClient(const std::shared_ptr<grpc::Channel>& channel,
                                               const Clock& clock);

}  // namespace splitlet::gc
