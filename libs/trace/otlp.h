#pragma once

/// Spans in the form of OTLP; ids that are not hex are left out. Pure functions, any thread.

#include <string>
#include <vector>

#include "libs/base/span.h"
#include "libs/trace/sender.h"

namespace opentelemetry::proto::collector::trace::v1 {
class ExportTraceServiceResponse;
}

namespace splitlet::trace {

/// The process of the spans.
struct Origin {
  std::string process;  // "pleg"; its service.name is splitlet-pleg
  std::string node_name;
  std::string version;
};

otlp::ExportTraceServiceRequest MakeRequest(const Origin& origin,
                                            const std::vector<SpanRecord>& spans);
std::string BytesOf(const otlp::ExportTraceServiceRequest& request);

/// INVALID_ARGUMENT: the collector accepted the request but not all spans.
Status CheckAnswer(const otlp::ExportTraceServiceResponse& answer);
/// Checks an encoded answer; unreadable bytes count as OK.
Status CheckAnswer(const std::string& bytes);

}  // namespace splitlet::trace
