#pragma once

/// Options of calls made for a request: a deadline, and the request's trace.
/// Threads: any; nothing fails.
/// Source:  W3C Trace Context; docs/tracing.md.

#include <string>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/trace.h"
#include "libs/https/server.h"

namespace splitlet::node_api {

/// A header that is copied from a request into the calls made for it.
inline constexpr const char* kTraceparent = "traceparent";

struct CallOptions {
  Deadline deadline;
  std::string traceparent;  // traceparent of the request; empty: none
};

/// The request's traceparent header; empty if it is malformed, so that a client cannot put other
/// bytes into our calls.
inline std::string TraceparentOf(const https::Request& request) {
  const std::string_view header = request.Header(kTraceparent);
  return TraceIdOf(header).empty() ? std::string() : std::string(header);
}

/// Options for a call made on behalf of `request`.
inline CallOptions OptionsFor(const https::Request& request, Deadline deadline) {
  return {.deadline = std::move(deadline), .traceparent = TraceparentOf(request)};
}

}  // namespace splitlet::node_api
