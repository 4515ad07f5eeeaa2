#pragma once

/// The trace that a change of a pod starts, carried by every table, call and log line about it.
/// Threads: pure functions, any.
/// Errors: a malformed traceparent has no id.
/// Source: W3C Trace Context, version 00; docs/behaviour/logs-and-metrics.md, "Traces".

#include <string>
#include <string_view>

#include "libs/base/random.h"

namespace splitlet {

/// Key of a trace id in a log line.
inline constexpr std::string_view kTraceIdField = "traceID";

/// "00-<32 hex digits>-<16 hex digits>-01"; the last part is 00 when the trace is not sampled.
std::string Traceparent(std::string_view trace_id, std::string_view span_id, bool sampled);

/// Starts a new trace.
std::string MakeTraceparent(Random& random, bool sampled = true);

/// The 32 hex digits; empty if malformed or all zeros.
std::string TraceIdOf(std::string_view traceparent);
/// The 16 hex digits of the last step; empty if malformed or all zeros.
std::string SpanIdOf(std::string_view traceparent);
/// `traceparent` with the same trace, but later steps are not recorded.
std::string Unsampled(std::string_view traceparent);
/// True if the trace's steps are recorded.
bool IsSampled(std::string_view traceparent);

}  // namespace splitlet
