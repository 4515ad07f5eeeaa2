#pragma once

/// OTLP over gRPC, without TLS like a kubelet's. Threads, errors: as sender.h.

#include <memory>
#include <string>

#include "libs/trace/sender.h"

namespace splitlet::trace {

std::unique_ptr<SpanSender> MakeGrpcSender(const std::string& target, const Clock& clock);

}  // namespace splitlet::trace
