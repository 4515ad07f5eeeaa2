#pragma once

/// Spans as OTLP has them; what is no hex is left out. Pure functions, any thread.

#include <string>
#include <vector>

#include "libs/base/span.h"
#include "libs/trace/sender.h"

namespace opentelemetry::proto::collector::trace::v1 {
class ExportTraceServiceResponse;
}

namespace splitlet::trace {

/// Who the spans are of.
struct Origin {
  std::string process;  // "pleg"; its service.name is splitlet-pleg
  std::string node_name;
  std::string version;
};

otlp::ExportTraceServiceRequest MakeRequest(const Origin& origin,
                                            const std::vector<SpanRecord>& spans);
std::string BytesOf(const otlp::ExportTraceServiceRequest& request);

/// INVALID_ARGUMENT when the collector took the request and not all of its spans.
Status CheckAnswer(const otlp::ExportTraceServiceResponse& answer);
/// The same of its bytes; what cannot be read says nothing.
Status CheckAnswer(const std::string& bytes);

}  // namespace splitlet::trace
