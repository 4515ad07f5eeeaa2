#pragma once

/// The trace that a change of a pod starts and that every table, call and log line about it
/// carries, from the source of the pod to the runtime. It is passed on as it came: no process here
/// has spans of its own. Threads: pure functions, any. Errors: what is no traceparent has no id.
/// Source: W3C Trace Context, traceparent of version 00; metrics-and-logging spec.

#include <string>
#include <string_view>

#include "libs/base/random.h"

namespace splitlet {

/// The key of a trace id in a log line.
inline constexpr std::string_view kTraceIdField = "traceID";

/// A new trace, sampled: "00-<32 hex digits>-<16 hex digits>-01".
std::string MakeTraceparent(Random& random);

/// The 32 hex digits; empty for what is not well formed or has an id of zeros only.
std::string TraceIdOf(std::string_view traceparent);

}  // namespace splitlet
