#pragma once

/// What gc asks of pod-worker and config-source, by gRPC. Threads, errors: as clients.h.

#include <memory>

#include "services/gc/clients.h"

namespace grpc {
class Channel;
}

namespace splitlet::gc {

std::unique_ptr<WorkerClient> MakeWorkerClient(const std::shared_ptr<grpc::Channel>& channel,
                                               const Clock& clock);
std::unique_ptr<DesiredClient> MakeDesiredClient(const std::shared_ptr<grpc::Channel>& channel,
                                                 const Clock& clock);

}  // namespace splitlet::gc
