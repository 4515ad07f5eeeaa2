#pragma once

/// Makes a request that is let in a step of a trace, which the calls that it leads to carry on.
/// Threads: loop thread; the span ends on whatever thread lets go of the responder.
/// Errors: what is no traceparent counts as none.
/// Source: W3C Trace Context; docs/tracing.md, "Spans".

#include "libs/base/random.h"
#include "services/node-api/http/routed_request.h"

namespace splitlet::node_api {

/// Begins a server's span, named after the route. It goes on with the trace of the header
/// `traceparent`, on a port where it is known who asks; else a new trace begins. Where
/// it is recorded the request's header is then that of the span. It ends when the request is
/// answered or passed on.
void TraceRequest(RoutedRequest& asked, Random& random);

}  // namespace splitlet::node_api
