#pragma once

/// Interceptors that measure each call and record it as a span of the trace that it carries.
/// Threads: gRPC's; nothing fails.
/// Source: W3C Trace Context.

#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "libs/base/clock.h"
#include "libs/rpc/call_metrics.h"

namespace splitlet::rpc {

/// `metrics` may be null; otherwise it outlives the calls.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> WatchClient(
    CallMetrics* metrics);
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> WatchServer(
    CallMetrics* metrics);

}  // namespace splitlet::rpc
