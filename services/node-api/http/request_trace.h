#pragma once

/// Records an allowed request as a span of a trace, which the calls made for it continue.
/// Threads: loop thread; the span ends on the thread that destroys the responder.
/// Errors: a malformed traceparent counts as none.
/// Source: W3C Trace Context; docs/tracing.md, "Spans".

#include "libs/base/random.h"
#include "services/node-api/http/routed_request.h"

namespace splitlet::node_api {

/// Begins a server span, named after the route. On the secured port it continues the trace of the
/// header `traceparent`; on the others a new trace begins. If the span is recorded, it replaces the
/// request's header. It ends when the request is answered or forwarded.
void TraceRequest(RoutedRequest& asked, Random& random);

}  // namespace splitlet::node_api
