#pragma once

/// Sends batches of spans to a collector.
/// Threads: one at a time; Send blocks.
/// Errors: try again after UNAVAILABLE and DEADLINE_EXCEEDED only.
/// Source: the public OTLP specification, "OTLP/gRPC" and "OTLP/HTTP".

#include <map>
#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace opentelemetry::proto::collector::trace::v1 {
class ExportTraceServiceRequest;
}

namespace splitlet::trace {

namespace otlp = opentelemetry::proto::collector::trace::v1;

class SpanSender {
 public:
  virtual ~SpanSender() = default;
  virtual Status Send(const otlp::ExportTraceServiceRequest& request, const Deadline& deadline) = 0;
};

/// Address of a collector.
struct Collector {
  enum class Protocol { kHttp, kGrpc };
  Protocol protocol = Protocol::kHttp;
  std::string endpoint;  // HTTP: the whole URL; gRPC: a target of gRPC such as "localhost:4317"
  std::map<std::string, std::string> headers;  // HTTP only
};

std::unique_ptr<SpanSender> MakeSender(const Collector& collector, const Clock& clock);

}  // namespace splitlet::trace
